"""Searching, sorting and sets under the standard's signatures."""

from typing import Any, NamedTuple

import thalweg as tw
from thalweg._core._tensor import Tensor
from thalweg.array_api.elementwise import promoted

__all__ = [
    "argmax", "argmin", "argsort", "nonzero", "searchsorted", "sort", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "where",
]  # fmt: skip


class UniqueAll(NamedTuple):
    """The result of unique_all."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The result of unique_counts."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The result of unique_inverse."""

    values: Tensor
    inverse_indices: Tensor


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest element lies."""
    return tw.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest element lies."""
    return tw.argmin(x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, one array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero: at least one axis is wanted")
    return tw.nonzero(x, as_tuple=True)


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where x2 would have to go into a sorted x1."""
    sequence, values = promoted(x1, x2)
    return tw.searchsorted(sequence if sorter is None else sequence[sorter.to(tw.int64)], values, side=side)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """x1 where the condition holds, else x2."""
    return tw.where(condition, *promoted(x1, x2))


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """x sorted along an axis."""
    return tw.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort x along an axis."""
    return tw.argsort(x, dim=axis, descending=descending, stable=stable)


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Values, the index of each element among them, counts; complex numbers are rows of two parts."""
    if not x.is_complex():
        return tw.unique(x, return_inverse=True, return_counts=True)
    parts = tw.view_as_real(x.reshape(-1).clone())
    values, inverse, counts = tw.unique(parts, return_inverse=True, return_counts=True, dim=0)
    return tw.view_as_complex(values), inverse.reshape(x.shape), counts


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements."""
    return _unique(x)[0]


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements, and how often each occurs."""
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements, and which of them each element of x is."""
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements, where each first occurs, which one each element is, and how often it occurs."""
    values, inverse, counts = _unique(x)
    flat = inverse.reshape(-1)
    count = flat.shape[0]
    first = tw.full((values.shape[0],), count, dtype=tw.int64)
    first = first.scatter_reduce(0, flat, tw.arange(count), "amin")
    return UniqueAll(values, first, inverse, counts)
