"""torch's operator database: entries, dtypes and samples, seeded and cached per (op, dtype)."""

import functools
import warnings

import torch

from .demanded import NAMES
from .names import full_name

DTYPES = tuple("float32 float64 float16 bfloat16 complex64 complex128 bool uint8 int8 int16 int32 int64".split())
SEED = 20260


@functools.cache
def database():
    """Entries by full name (`name.variant`), in torch's order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {full_name(op): op for op in op_db if not op.name.startswith(("jiterator", "torch.ops"))}


def is_demanded(name):
    return database()[name].name in NAMES


def dtypes_of(op, wanted=DTYPES):
    """The dtypes torch supports for the op on the CPU, of those thalweg has, in a fixed order."""
    supported = op.supported_dtypes("cpu")
    return [d for d in wanted if getattr(torch, d) in supported]


def _seeded(make):
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(make())


@functools.lru_cache(maxsize=4)
def inputs(name, dtype):
    """The samples of an op in a dtype; float and complex tensors require a gradient where torch has one."""
    op = database()[name]
    dtype = getattr(torch, dtype)
    differentiable = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    return _seeded(lambda: op.sample_inputs("cpu", dtype, requires_grad=differentiable))


def error_inputs(name):
    op = database()[name]
    return _seeded(lambda: op.error_inputs("cpu")) if op.error_inputs_func is not None else []
