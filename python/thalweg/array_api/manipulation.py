"""Functions whose parameters or results differ from thalweg's own."""

from collections.abc import Sequence
from typing import Any, cast

import thalweg as tw
from thalweg._core._tensor import Tensor, dtype

__all__ = [
    "all", "any", "astype", "can_cast", "clip", "concat", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff",
    "expand_dims", "flip", "isdtype", "matrix_transpose", "max", "mean", "min", "moveaxis", "permute_dims", "prod",
    "repeat", "reshape", "result_type", "squeeze", "std", "sum", "take", "take_along_axis", "var", "vecdot",
]  # fmt: skip

Axis = int | Sequence[int] | None

_KINDS = {
    "bool": lambda d: d.name == "bool",
    "signed integer": lambda d: d.name.startswith("int"),
    "unsigned integer": lambda d: d.name.startswith("uint"),
    "integral": lambda d: "int" in d.name,
    "real floating": lambda d: d.is_floating_point,
    "complex floating": lambda d: d.is_complex,
    "numeric": lambda d: d.name != "bool",
}


def isdtype(dtype: dtype, kind: Any) -> bool:
    """Whether a dtype is another, is of a kind named by the standard, or is one of several."""
    if isinstance(kind, tuple):
        return builtin_any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: kind must be one of {sorted(_KINDS)}, got {kind!r}")
        return _KINDS[kind](dtype)
    return dtype == kind


def builtin_any(items: Any) -> bool:
    """Python's any, which the standard's name hides here."""
    return next((True for item in items if item), False)


def _axes(x: Tensor, axis: Axis) -> list[int]:
    if axis is None:
        return list(range(x.ndim))
    return [cast(int, axis)] if hasattr(axis, "__index__") else list(cast(Sequence[int], axis))


def astype(x: Tensor, dtype: dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """x in another dtype; a copy, unless copy=False and nothing changes."""
    return x.to(dtype, copy=copy)


def can_cast(from_: Any, to: dtype, /) -> bool:
    """Whether promotion leads from a dtype (or an array's) to another."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    return tw.promote_types(source, to) == to


def result_type(*arrays_and_dtypes: Any) -> dtype:
    """The dtype that promotion of all of them gives."""
    return tw.result_type(*arrays_and_dtypes)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays joined along an axis, or flattened and joined."""
    return tw.cat([x.reshape(-1) for x in arrays], 0) if axis is None else tw.cat(list(arrays), axis)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """x with an axis of size 1 put in."""
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """x without axes of size 1."""
    for a in _axes(x, axis):
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} has size {x.shape[a]}, not 1")
    return x.squeeze(axis)


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """x with the order of elements reversed."""
    return tw.flip(x, _axes(x, axis))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """x with axes moved."""
    return tw.movedim(x, source, destination)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """x with its axes in another order."""
    return x.permute(*axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """x with its last two axes swapped."""
    return x.mT


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """x in another shape; copy=False refuses to copy."""
    if copy is False:
        return x.view(tuple(shape))
    return (x.clone() if copy else x).reshape(tuple(shape))


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element so many times."""
    return tw.repeat_interleave(x, repeats, axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The positions of an axis that indices name."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an axis is wanted for {x.ndim} axes")
        axis = 0
    return x[(slice(None),) * (axis % x.ndim) + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The element of each row along an axis that indices name."""
    return tw.take_along_dim(x, indices, axis)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """x limited to [min, max]."""
    if min is None and max is None:
        return x.clone()
    return tw.clamp(x, min, max).to(x.dtype)


def _reduce(name: str, x: Tensor, axis: Axis, keepdims: bool, **options: Any) -> Tensor:
    """An axis of () reduces nothing; None reduces all."""
    if axis == ():
        raise ValueError(f"{name}: at least one axis is wanted")
    return getattr(tw, name)(x, dim=_axes(x, axis), keepdim=keepdims, **options)


def sum(x: Tensor, /, *, axis: Axis = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The sum over axes."""
    return _reduce("sum", x, axis, keepdims, dtype=dtype)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The product over axes."""
    result = x if dtype is None else x.to(dtype)
    for a in sorted((a % x.ndim for a in _axes(x, axis)), reverse=True):
        result = tw.prod(result, a, keepdims)
    return result if x.ndim else tw.prod(result)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean over axes."""
    return _reduce("mean", x, axis, keepdims)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest element over axes."""
    return _reduce("amax", x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest element over axes."""
    return _reduce("amin", x, axis, keepdims)


def var(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over axes."""
    return _reduce("var", x, axis, keepdims, correction=correction)


def std(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes."""
    return _reduce("std", x, axis, keepdims, correction=correction)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over axes are true."""
    return _reduce("all", x, axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether any element over axes is true."""
    return _reduce("any", x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements over axes are not zero."""
    return _reduce("sum", x != 0, axis, keepdims, dtype=tw.int64)


def _cumulate(name: str, x: Tensor, axis: int | None, dtype: dtype | None, include_initial: bool, start: int) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: an axis is wanted for {x.ndim} axes")
        axis = 0
    result = getattr(tw, name)(x, axis, dtype=dtype)
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return tw.cat([tw.full(shape, start, dtype=result.dtype), result], axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False
) -> Tensor:
    """The sums of all elements up to each."""
    return _cumulate("cumsum", x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False
) -> Tensor:
    """The products of all elements up to each."""
    return _cumulate("cumprod", x, axis, dtype, include_initial, 1)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along an axis, n times."""
    parts = [part for part in (prepend, x, append) if part is not None]
    result = tw.cat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        size = result.shape[axis]
        if size == 0:
            break
        later, earlier = result.narrow(axis, 1, size - 1), result.narrow(axis, 0, size - 1)
        result = later != earlier if result.dtype.name == "bool" else later - earlier
    return result


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The dot product of vectors along an axis, the first one conjugated."""
    return (tw.conj(x1) * x2).sum(axis)
