"""Layers, losses and what they are made of."""

from thalweg.nn import functional, init, parallel, utils
from thalweg.nn.graph import Graph
from thalweg.nn.module import Module
from thalweg.nn.modules import *  # noqa: F403
from thalweg.nn.modules import __all__ as _module_names
from thalweg.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Graph", "Module", "Parameter", "functional", "init", "parallel", "utils", *_module_names]
