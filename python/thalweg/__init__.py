"""thalweg: a deep-learning framework, eager like PyTorch, static when it counts.

>>> import thalweg as tw
>>> x = tw.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4., 6.])
"""

import importlib
import math
from typing import Any

from thalweg import _registry, autograd, composites, cpu, cuda, env, errors, frontend, sbp
from thalweg._core._tensor import Size, Tensor, dtype
from thalweg.autograd.modes import (
    autocast,
    enable_grad,
    inference_mode,
    is_autocast_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from thalweg.errors import CommError, DeviceError, InternalError, OutOfMemoryError, PlacementError
from thalweg.frontend.device import device
from thalweg.frontend.dtypes import *  # noqa: F403
from thalweg.frontend.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from thalweg.frontend.placement import placement
from thalweg.frontend.precision import get_float32_matmul_precision, set_float32_matmul_precision
from thalweg.frontend.printing import set_printoptions
from thalweg.frontend.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from thalweg.frontend.threads import get_num_threads, set_num_threads
from thalweg.jit.control import cond, scan, while_loop
from thalweg.jit.flight import synchronize
from thalweg.jit.function import jit  # the name of the package too, which this import hides on purpose

__version__ = "0.1.0"

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None

# Every function: registered ops and the composites that the imports above have exported.
globals().update(_registry.FUNCTIONS)

# Packages that bring large imports of their own (NumPy, multiprocessing) are loaded when first used.
_LAZY_PACKAGES = ("amp", "data", "distributed", "io", "linalg", "nn", "optim", "profiler", "special", "utils")
_LAZY_NAMES = {
    "save": "thalweg.io",
    "load": "thalweg.io",
    "checkpoint": "thalweg.utils.checkpoint",
    "micro_batches": "thalweg.jit.micro_batches",
    "save_graph": "thalweg.jit.archive",
    "load_graph": "thalweg.jit.archive",
    "Dim": "thalweg.jit.sizes",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY_PACKAGES:
        return importlib.import_module(f"thalweg.{name}")
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    raise AttributeError(f"module 'thalweg' has no attribute {name!r}")
