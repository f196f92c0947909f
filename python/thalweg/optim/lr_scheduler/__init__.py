"""Learning-rate schedules, a file per kind; each file's __all__ says what it offers."""

from thalweg.optim.lr_scheduler import combined, cosine, cyclic, factor, function, plateau, scheduler
from thalweg.optim.lr_scheduler.combined import *  # noqa: F403
from thalweg.optim.lr_scheduler.cosine import *  # noqa: F403
from thalweg.optim.lr_scheduler.cyclic import *  # noqa: F403
from thalweg.optim.lr_scheduler.factor import *  # noqa: F403
from thalweg.optim.lr_scheduler.function import *  # noqa: F403
from thalweg.optim.lr_scheduler.plateau import *  # noqa: F403
from thalweg.optim.lr_scheduler.scheduler import *  # noqa: F403

_FILES = (combined, cosine, cyclic, factor, function, plateau, scheduler)

__all__ = sorted(name for file in _FILES for name in file.__all__)
