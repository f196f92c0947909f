"""Automatic differentiation: grad, backward, custom functions, modes, checks."""

from thalweg.autograd import graph
from thalweg.autograd.function import Function
from thalweg.autograd.functional import backward, grad
from thalweg.autograd.gradcheck import gradcheck, gradgradcheck
from thalweg.autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
