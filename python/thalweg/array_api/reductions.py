"""Statistics, sums and counts under the standard's signatures. An axis of () reduces nothing, None reduces all."""

from typing import Any

import thalweg as tw
from thalweg._core._tensor import Tensor, dtype
from thalweg.array_api.elementwise import promoted
from thalweg.array_api.manipulation import Axis, axes_of

__all__ = [
    "all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std",
    "sum", "var",
]  # fmt: skip


def _reduce(name: str, x: Tensor, axis: Axis, keepdims: bool, **options: Any) -> Tensor:
    axes = axes_of(x, axis)
    if not axes:  # an axis of one element stands in for none
        return getattr(tw, name)(x.unsqueeze(-1), dim=-1, **options)
    return getattr(tw, name)(x, dim=axes, keepdim=keepdims, **options)


def sum(x: Tensor, /, *, axis: Axis = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The sum over axes."""
    return _reduce("sum", x, axis, keepdims, dtype=dtype)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The product over axes."""
    axes = axes_of(x, axis)
    if not axes:
        return tw.prod(x.unsqueeze(-1), -1, dtype=dtype)
    # tw.prod takes one axis: the reduced ones are brought to the end and joined.
    last = tw.movedim(x, axes, list(range(-len(axes), 0))).flatten(-len(axes))
    result = tw.prod(last, -1, dtype=dtype)
    kept = {a % x.ndim for a in axes}
    return result.reshape([1 if a in kept else n for a, n in enumerate(x.shape)]) if keepdims else result


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
    return _reduce("all", x != 0, axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether any element over axes is true."""
    return _reduce("any", x != 0, axis, keepdims)


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
    """The differences of neighbours along an axis, n times; x itself where n is 0."""
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    if n == 0:
        return x
    parts = [part for part in (prepend, x, append) if part is not None]
    result = tw.cat(promoted(*parts), axis) if len(parts) > 1 else x
    for _ in range(n):
        size = result.shape[axis]
        if size == 0:
            break
        later, earlier = result.narrow(axis, 1, size - 1), result.narrow(axis, 0, size - 1)
        result = later != earlier if result.dtype.name == "bool" else later - earlier
    return result
