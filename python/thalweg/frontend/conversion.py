"""Other dtypes, other devices, other libraries: to(), float(), numpy(), item(), tolist()."""

from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach, dtype, dtype_by_name
from thalweg._registry import export, ops
from thalweg.frontend.device import moved, name_of
from thalweg.frontend.layout import copy_in_format, in_format, is_in_format, preserve_format, strides_tell


def _cast(self: Tensor, wanted: dtype, copy: bool = False, memory_format: Any = None, op: str = "to") -> Tensor:
    as_it_lies = memory_format is None or memory_format is preserve_format
    if self.dtype != wanted:
        return in_format(ops.cast(self, wanted), memory_format, op)
    if not copy and (as_it_lies or strides_tell(self, memory_format, op)):
        return self
    return copy_in_format(self, memory_format, op)


@export(function=True, method=True)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of the tensor, by default in its own order in memory, without gaps."""
    return copy_in_format(input, memory_format, "clone")


@export(method=True)
def to(
    self: Tensor,
    *args: Any,
    dtype: dtype | None = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """The tensor with another dtype or on another device; itself where nothing changes.

    Takes to(dtype), to(device), to(device, dtype) and to(other), the last with the dtype and device of a tensor.
    """
    flags = []
    for arg in args:
        if isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif _is_dtype(arg):
            dtype = arg
        elif isinstance(arg, bool):
            flags.append(arg)
        elif arg is not None:
            device = arg
    copy = copy or flags[1:] == [True]  # the first flag is non_blocking
    there = moved(self, device, "to", non_blocking or flags[:1] == [True])
    copy = copy and there is self  # what has moved is a copy
    return _cast(there, self.dtype if dtype is None else dtype, copy, memory_format)


def _is_dtype(arg: object) -> bool:
    return isinstance(arg, dtype) or arg in (bool, int, float, complex)


@export(method=True)
def type(self: Tensor, dtype: Any = None) -> "Tensor | str":
    """The name of the tensor's type, or the tensor with another dtype."""
    if dtype is None:
        return f"thalweg.{self.dtype.name}"
    return _cast(self, dtype_by_name(dtype.split(".")[-1]) if isinstance(dtype, str) else dtype)


@export(method=True)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the dtype of another."""
    return _cast(self, other.dtype)


@export(method=True)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    return in_format(moved(self, "cpu", "cpu"), memory_format, "cpu")


@export(method=True)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU, the current one by default; raises DeviceError where there is none."""
    return moved(self, "cuda" if device is None else device, "cuda", non_blocking)


@export(method=True)
def pin_memory(self: Tensor) -> Tensor:
    """A copy in host memory that a GPU reads and writes without a buffer between: `to(..., non_blocking=True)` waits
    for nothing then.
    """
    name_of("cuda", "pin_memory")
    return _native.pinned(self.detach())


@export(method=True)
def record_stream(self: Tensor, stream: Any) -> None:
    """Says that another stream uses the tensor's memory: after the tensor is gone it is given to nobody before the
    stream has done what is queued on it now.
    """
    _native.record_stream(self, stream._handle)


def _caster(name: str, target: dtype) -> None:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return _cast(self, target, False, memory_format, name)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {target.name}."
    attach(name, method)


for _name, _target in {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
}.items():
    _caster(_name, dtype_by_name(_target))


@export(method=True)
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array over the same memory.

    force=True detaches first.

    Raises:
        RuntimeError: the tensor requires grad.
        TypeError: bfloat16, which NumPy does not have.
    """
    if self.requires_grad:
        if not force:
            raise RuntimeError("numpy: the tensor requires grad; call detach() first")
        self = self.detach()
    return _native.to_numpy(self)


@export(method=True)
def item(self: Tensor) -> Any:
    """The number in a tensor of one element."""
    return _native.item(self)


@export(method=True)
def tolist(self: Tensor) -> Any:
    """The elements as nested lists; a number for a 0-dim tensor."""
    return _native.to_list(self)


@export(function=True, method=True)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating one."""
    return input.dtype.is_floating_point


@export(function=True, method=True)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.dtype.is_complex


@export(function=True)
def is_tensor(obj: object) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


@export(function=True, method=True)
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.dtype.is_signed


@export(function=True, method=True)
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero; RuntimeError for other numbers of elements."""
    return bool(input)


@export(function=True, method=True)
def is_conj(input: Tensor) -> bool:
    """False: a conjugate is computed at once, never left to be."""
    return False


@export(function=True, method=True)
def is_neg(input: Tensor) -> bool:
    """False: a negative is computed at once, never left to be."""
    return False


@export(function=True, method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: see is_conj()."""
    return input


@export(function=True, method=True)
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: see is_neg()."""
    return input


@export(function=True, method=True)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are the same."""
    return input.shape == other.shape


@export(method=True)
def ndimension(self: Tensor) -> int:
    """The number of dims."""
    return self.ndim


@export(method=True)
def nelement(self: Tensor) -> int:
    """The number of elements."""
    return self.numel()


@export(method=True)
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in row-major memory or another memory format; itself where it is already."""
    if memory_format is preserve_format:
        raise RuntimeError("contiguous: a memory format that orders the elements is wanted, got preserve_format")
    if memory_format is not None:
        return in_format(self, memory_format, "contiguous")
    return self if _native.is_contiguous(self) else ops.row_major(self)


@export(method=True)
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in row-major order, or that of a memory format, without gaps."""
    return _native.is_contiguous(self) if memory_format is None else is_in_format(self, memory_format, "is_contiguous")


@export(function=True)
def numel(input: Tensor) -> int:
    """The number of elements."""
    return Tensor.numel(input)
