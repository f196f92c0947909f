"""Optimizers and learning-rate schedules."""

from thalweg.optim import lr_scheduler
from thalweg.optim.adadelta import Adadelta
from thalweg.optim.adagrad import Adagrad
from thalweg.optim.adam import Adam, AdamW
from thalweg.optim.adamax import Adamax
from thalweg.optim.asgd import ASGD
from thalweg.optim.lamb import LAMB
from thalweg.optim.lion import Lion
from thalweg.optim.nadam import NAdam
from thalweg.optim.optimizer import Optimizer
from thalweg.optim.radam import RAdam
from thalweg.optim.rmsprop import RMSprop
from thalweg.optim.rprop import Rprop
from thalweg.optim.sgd import SGD

__all__ = [
    "ASGD", "LAMB", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "lr_scheduler",
]  # fmt: skip
