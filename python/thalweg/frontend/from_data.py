"""Tensors from Python values and from other libraries' arrays."""

from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, dtype
from thalweg._registry import export, ops
from thalweg.frontend.device import Device, moved
from thalweg.frontend.global_creation import spread
from thalweg.frontend.placement import Sbp, placement
from thalweg.jit.context import tracing

__all__ = ["as_tensor", "asarray", "finish", "from_dlpack", "from_numpy", "tensor"]


def finish(result: Tensor, requires_grad: bool) -> Tensor:
    """Marks a new tensor as wanting a gradient where asked."""
    if requires_grad:
        result.requires_grad = True
    return result


@export(function=True)
def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A new tensor that copies `data`: a number, nested sequences, a NumPy array or a Tensor.

    Without a dtype: bool, int64, the default float or its complex for Python values, the array's own for arrays.
    With placement and sbp a global tensor: all processes give the same data, and each device keeps its part.

    Raises:
        ValueError: sequences of unequal lengths.
        TypeError: items that are no numbers.

    >>> import thalweg as tw
    >>> tw.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if placement is not None or sbp is not None:
        return spread("tensor", _to_tensor(data, dtype, copy=False), placement, sbp, requires_grad)
    return finish(moved(_to_tensor(data, dtype, copy=True), device, "tensor"), requires_grad)


@export(function=True)
def as_tensor(data: Any, dtype: dtype | None = None, device: Device = None) -> Tensor:
    """`data` as a tensor: shares memory with arrays where dtypes agree, and is `data` itself for a tensor."""
    return moved(_to_tensor(data, dtype, copy=False), device, "as_tensor")


@export(function=True)
def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`obj` as a tensor; copy=True always copies, copy=False raises where a copy would be needed."""
    result = moved(_to_tensor(obj, dtype, copy=bool(copy)), device, "asarray")
    if copy is False and not _shares_memory(result, obj):
        raise ValueError("asarray: this object cannot be seen as a tensor without a copy")
    return finish(result, requires_grad) if requires_grad else result


def _shares_memory(result: Tensor, obj: Any) -> bool:
    if isinstance(obj, Tensor):
        return _native.same_storage(result, obj)
    interface = getattr(obj, "__array_interface__", None)
    return interface is not None and interface["data"][0] == result.data_ptr()


def _to_tensor(data: Any, wanted: dtype | None, copy: bool) -> Tensor:
    if isinstance(data, Tensor):
        result = data if wanted in (None, data.dtype) else ops.cast(data, wanted)
        return result.detach().clone() if copy else result
    if hasattr(data, "__array_interface__") or hasattr(data, "__array__"):
        result = _from_array(data)
        shared = result
        if wanted is not None and wanted != result.dtype:
            result = ops.cast(result, wanted)
        return result.clone() if copy and result is shared else result
    if hasattr(data, "__dlpack__"):
        result = from_dlpack(data)
        result = result if wanted in (None, result.dtype) else ops.cast(result, wanted)
        return result.clone() if copy else result
    return _from_nested(data, wanted)


def _memory_of(array: Any) -> Any:
    """The array itself, also of one that a traced function has drawn (jit/host_arrays.py)."""
    return array._memory if hasattr(type(array), "_enter_program") else array


def _from_array(data: Any) -> Tensor:
    array = _native.as_array(_memory_of(data))
    if array.dtype.byteorder == ">" or any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = array.astype(array.dtype.newbyteorder("="), order="C")
    if array.dtype.kind == "u" and array.itemsize > 1:
        raise TypeError(f"tensor: arrays of dtype {array.dtype} are not supported")
    return _native.from_numpy(array)


_MAX_DEPTH = 64  # of nested sequences, as in NumPy; a list that holds itself has no end


def _shape_of(data: Any) -> list[int]:
    shape: list[int] = []
    while isinstance(data, (list, tuple, range)):
        if len(shape) == _MAX_DEPTH:
            raise ValueError(f"tensor: sequences nested at most {_MAX_DEPTH} deep are wanted, got more")
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    if isinstance(data, Tensor) or hasattr(data, "__array__"):
        shape.extend(data.shape)
    return shape


def _flatten(data: Any, shape: list[int], depth: int, out: list) -> None:
    if isinstance(data, Tensor):
        data = data.tolist()
    elif hasattr(data, "__array__"):
        data = data.tolist()
    if depth == len(shape):
        if isinstance(data, (list, tuple)):
            raise ValueError(f"tensor: an item at dim {depth} is a sequence, others are numbers")
        out.append(data)
        return
    if not isinstance(data, (list, tuple, range)) or len(data) != shape[depth]:
        got = len(data) if isinstance(data, (list, tuple, range)) else type(data).__name__
        raise ValueError(f"tensor: expected a sequence of length {shape[depth]} at dim {depth}, got {got}")
    for item in data:
        _flatten(item, shape, depth + 1, out)


def _from_nested(data: Any, wanted: dtype | None) -> Tensor:
    shape = _shape_of(data)
    values: list = []
    _flatten(data, shape, 0, values)
    if tracing.current is not None and any(hasattr(value, "_enter_graph") for value in values):
        return _from_traced(values, shape, wanted)
    return _native.from_values(values, shape, wanted)


def _from_traced(values: list, shape: list[int], wanted: dtype | None) -> Tensor:
    """Some values are numbers of a traced program: ops that run in every call fill the tensor."""
    plain = [getattr(value, "value", value) for value in values]
    kind = _native.from_values(plain, [len(plain)], wanted).dtype
    return ops.reshape(ops.stack([ops.full([], value, dtype=kind) for value in values]), shape)


@export(function=True)
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the memory of a NumPy array: writes to one show in the other.

    Raises:
        TypeError: an element type that no dtype matches.
        ValueError: negative strides.
    """
    return _native.from_numpy(_memory_of(ndarray))


@export(function=True)
def from_dlpack(ext_tensor: Any, *, device: Device = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of any object with __dlpack__; over a copy of it where copy=True."""
    capsule = ext_tensor.__dlpack__() if hasattr(ext_tensor, "__dlpack__") else ext_tensor
    result = _native.from_dlpack(capsule)
    return moved(result.clone() if copy else result, device, "from_dlpack")
