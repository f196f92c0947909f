"""Reductions with several forms: extrema, products, moments, sums that skip NaN."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from thalweg._core._tensor import Tensor, dtype
from thalweg._registry import export, ops

__all__ = ["aminmax", "count_nonzero", "max", "min", "nanmean", "nansum", "prod", "std", "std_mean", "var", "var_mean"]

Dims = int | Sequence[int] | None


class MinMax(NamedTuple):
    """What aminmax returns."""

    min: Tensor
    max: Tensor


def _extremum(name: str, input: Tensor, dim: Any, keepdim: bool, other: Tensor | None) -> Any:
    if isinstance(dim, Tensor):
        dim, other = None, dim
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}: input must be a Tensor, got {type(input).__name__}")
    if other is not None:
        return getattr(ops, name + "imum")(input, other)
    if dim is None:
        if not input.numel():
            raise ValueError(f"{name}: the input is empty: shape {list(input.shape)}; pass dim to reduce another dim")
        return getattr(ops, "a" + name)(input)
    return getattr(ops, name + "_dim")(input, dim, keepdim)


@export(function=True, method=True)
def max(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The largest element; with `dim`, (values, indices) over it; with a tensor, the larger of each pair.

    A NaN is larger than any number; among equals the first index is given.
    """
    return _extremum("max", input, dim, keepdim, other)


@export(function=True, method=True)
def min(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The smallest element; with `dim`, (values, indices) over it; with a tensor, the smaller of each pair.

    A NaN is smaller than any number; among equals the first index is given.
    """
    return _extremum("min", input, dim, keepdim, other)


@export(function=True, method=True)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """The smallest and the largest element, over one dim or all."""
    return MinMax(ops.amin(input, dim, keepdim), ops.amax(input, dim, keepdim))


@export(function=True, method=True)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The product of the elements over one dim or all; integers and bools multiply in int64 unless a dtype is given."""
    if dim is None:
        return ops.prod_dim(input.reshape(-1), 0, dtype=dtype)
    return ops.prod_dim(input, dim, keepdim, dtype=dtype)


@export(function=True, method=True)
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """The number of nonzero elements over the given dims; NaN is not zero."""
    return ops.count_nonzero_dims(input, dim)


def _correction(name: str, dim: Any, unbiased: bool | None, correction: float | None) -> tuple[Dims, float]:
    """Sorts out var(x, unbiased) and var(x, dim, unbiased)."""
    if isinstance(dim, bool):
        if unbiased is not None:
            raise TypeError(f"{name}: dim must be an int or a sequence of ints, got bool")
        dim, unbiased = None, dim
    if unbiased is None:
        return dim, 1.0 if correction is None else float(correction)
    if correction is not None:
        raise TypeError(f"{name}: give unbiased or correction, not both")
    return dim, float(unbiased)


def _moments(
    name: str, input: Tensor, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None, root: bool
) -> tuple[Tensor, Tensor]:
    dim, correction = _correction(name, dim, unbiased, correction)
    if not input.dtype.is_complex:
        return ops.moments(input, dim, correction, keepdim, root)
    real, real_mean = ops.moments(ops.real(input), dim, correction, keepdim, False)
    imag, imag_mean = ops.moments(ops.imag(input), dim, correction, keepdim, False)
    total = real + imag
    return ops.sqrt(total) if root else total, real_mean + imag_mean * 1j


@export(function=True, method=True)
def var(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance over the given dims; the sum of squares is divided by count - correction (1 by default)."""
    return _moments("var", input, dim, unbiased, keepdim, correction, False)[0]


@export(function=True, method=True)
def std(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation over the given dims: the root of var."""
    return _moments("std", input, dim, unbiased, keepdim, correction, True)[0]


@export(function=True)
def var_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean over the given dims."""
    variance, mean = _moments("var_mean", input, dim, unbiased, keepdim, correction, False)
    return variance, mean


@export(function=True)
def std_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over the given dims."""
    deviation, mean = _moments("std_mean", input, dim, unbiased, keepdim, correction, True)
    return deviation, mean


@export(function=True, method=True)
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The sum over the given dims, NaN counted as 0."""
    if input.dtype.is_floating_point:
        input = ops.where(ops.isnan(input), 0, input)
    elif input.dtype.is_complex:
        raise RuntimeError("nansum: complex numbers are not supported")
    return ops.sum(input, dim, keepdim, dtype=dtype)


@export(function=True, method=True)
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The mean over the given dims of the elements that are not NaN."""
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"nanmean: a floating or complex dtype is wanted, got {input.dtype}")
    missing = ops.isnan(input)
    count = ops.sum(ops.logical_not(missing), dim, keepdim)
    return ops.sum(ops.where(missing, 0, input), dim, keepdim, dtype=dtype) / count
