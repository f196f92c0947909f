"""Order statistics, distinct elements and searches: the forms around sort, unique_rows and searchsorted_rows."""

import math
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.support import bool_dtype, require_none
from thalweg.frontend.creation import full_like
from thalweg.frontend.dtypes import result_type
from thalweg.frontend.from_data import as_tensor

__all__ = [
    "argsort",
    "bucketize",
    "isin",
    "median",
    "msort",
    "nanmedian",
    "nanquantile",
    "quantile",
    "searchsorted",
    "unique",
    "unique_consecutive",
]


@export(function=True, method=True)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort input along dim; equal elements keep their order."""
    return ops.sort(input, dim, descending, stable)[1]


@export(function=True, method=True)
def msort(input: Tensor) -> Tensor:
    """The elements in ascending order along the first dim."""
    return ops.sort(input, 0)[0]


@export(function=True, method=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements; with `dim`, (values, indices) along it. NaN where there is one."""
    return _median(ops.median_dim, input, dim, keepdim)


@export(function=True, method=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of the elements that are not NaN; with `dim`, (values, indices) along it."""
    return _median(ops.nanmedian_dim, input, dim, keepdim)


def _median(op: Any, input: Tensor, dim: int | None, keepdim: bool) -> Any:
    if dim is not None:
        return op(input, dim, keepdim)
    if not input.numel():
        if not input.dtype.is_floating_point:
            raise RuntimeError(f"median: an empty tensor of dtype {input.dtype} has no median")
        return input.new_full([], math.nan)
    return op(input.reshape(-1), 0)[0]


_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


def _quantile(
    name: str, input: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Tensor:
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(f"{name}: interpolation must be one of {', '.join(_INTERPOLATIONS)}, got {interpolation!r}")
    if input.dtype.is_complex or not input.dtype.is_floating_point or input.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: float32 or float64 is wanted, got {input.dtype}")
    if not input.numel():
        raise RuntimeError(f"{name}: the input is empty: shape {list(input.shape)}")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}: q must be in [0, 1], got {q}")
        q = input.new_full([], float(q))
    elif q.dtype != input.dtype:
        raise RuntimeError(f"{name}: q must have input's dtype {input.dtype}, got {q.dtype}")
    elif q.ndim > 1:
        raise RuntimeError(f"{name}: q must be a number or have one dim, got shape {list(q.shape)}")
    else:
        inside = (q.detach() >= 0) & (q.detach() <= 1)
        require_none(~inside, RuntimeError, f"{name}: q must be in [0, 1]")
    assert isinstance(q, Tensor)
    kept = [1] * input.ndim
    if dim is not None:
        if not -max(input.ndim, 1) <= dim < max(input.ndim, 1):
            raise IndexError(f"{name}: dim {dim} is out of range for {input.ndim} dims")
        kept = list(input.shape)
        if input.ndim:
            kept[dim] = 1
    rows = input.reshape(1, -1) if dim is None or input.ndim == 0 else ops.transpose(input, dim, -1)
    result = _row_quantiles(rows, q.reshape(-1), interpolation, skip_nan)
    if dim is not None and input.ndim:
        result = ops.transpose(result, dim, -1)
        # The dim of quantiles stands where `dim` was; it goes to the front.
        order = [dim % input.ndim] + [d for d in range(input.ndim) if d != dim % input.ndim]
        result = result.permute(order)
        kept_shape = kept if keepdim else [s for d, s in enumerate(input.shape) if d != dim % input.ndim]
    else:
        result = result.reshape(-1)
        kept_shape = kept if keepdim else []
    return result.reshape(([q.numel()] if q.ndim else []) + kept_shape)


def _row_quantiles(rows: Tensor, q: Tensor, interpolation: str, skip_nan: bool) -> Tensor:
    """[..., n] and [k] give [..., k]."""
    ordered = ops.sort(rows, -1)[0]
    missing = ops.sum(ops.isnan(rows), -1, True).to(rows.dtype)
    last = float(rows.shape[-1] - 1)
    if skip_nan:
        ranks = q * ops.clamp(ops.rsub(missing, last), min=0.0)
    else:  # a NaN is the last element of its row
        ranks = ops.where(missing > 0, last, q * last)
    if interpolation == "lower":
        ranks = ops.floor(ranks)
    elif interpolation == "higher":
        ranks = ops.ceil(ranks)
    elif interpolation == "nearest":
        ranks = ops.round(ranks)
    lower = ops.floor(ranks)
    below = ops.gather(ordered, -1, lower.long())
    if interpolation not in ("linear", "midpoint"):
        return below
    above = ops.gather(ordered, -1, ops.ceil(ranks).long())
    share = rows.new_full([], 0.5) if interpolation == "midpoint" else ranks - lower
    return ops.lerp(below, above, share)


@export(function=True, method=True)
def quantile(
    input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-th quantiles along dim or of all elements; where q has a dim, it becomes the first of the result."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@export(function=True, method=True)
def nanquantile(
    input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-th quantiles of the elements that are not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def _unique(input: Tensor, consecutive: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    if dim is None:
        rows, inverse, counts = ops.unique_rows(input.reshape(-1, 1), consecutive)
        values, inverse = rows.reshape(-1), inverse.reshape(input.shape)
    else:
        if not -max(input.ndim, 1) <= dim < max(input.ndim, 1):
            raise IndexError(f"unique: dim {dim} is out of range for {input.ndim} dims")
        if input.ndim == 0:
            return _unique(input.reshape(1), consecutive, return_inverse, return_counts, 0)
        dim %= input.ndim
        first = input.permute([dim] + [d for d in range(input.ndim) if d != dim])
        size = first.shape[0]
        if 0 in first.shape[1:]:
            raise RuntimeError(f"unique: dim {dim} holds slices without elements: shape {list(input.shape)}")
        width = first.numel() // size if size else 1
        rows, inverse, counts = ops.unique_rows(first.reshape(size, width), consecutive)
        values = rows.reshape([rows.shape[0], *first.shape[1:]])
        values = values.permute([*range(1, dim + 1), 0, *range(dim + 1, input.ndim)])
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


@export(function=True, method=True)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or slices along dim, in ascending order; each NaN is one of its own.

    With return_inverse also which of them each element is, with return_counts also how often each occurs.
    """
    return _unique(input, False, return_inverse, return_counts, dim)


@export(function=True, method=True)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along dim, that differ from the one before; extra results as in unique."""
    return _unique(input, True, return_inverse, return_counts, dim)


@export(function=True)
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each value would be inserted to keep the last dim of sorted_sequence in order.

    The place before equal elements, or after them with right=True (side="right"). `sorter` sorts a sequence that is
    not in order.
    """
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if side == "left" and right:
        raise RuntimeError("searchsorted: side 'left' contradicts right=True")
    if not isinstance(input, Tensor):
        if sorted_sequence.ndim != 1:
            raise RuntimeError(f"searchsorted: a number needs a sequence of one dim, got {sorted_sequence.ndim}")
        input = sorted_sequence.new_full([], input)
    return ops.searchsorted_rows(sorted_sequence, input, sorter, out_int32, right or side == "right")


@export(function=True)
def bucketize(input: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket between boundaries that each value falls into; right=True: boundaries belong above."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize: boundaries must have one dim, got shape {list(boundaries.shape)}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@export(function=True)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of test_elements; with invert, whether it is none. NaN is none.

    One of the two may be a number. assume_unique is accepted: it makes no difference.

    >>> import thalweg as tw
    >>> tw.isin(tw.tensor([[1, 2], [3, 4]]), tw.tensor([2, 3]))
    tensor([[False,  True],
            [ True, False]])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError(
            f"isin: at least one Tensor is wanted, got {type(elements).__name__} and {type(test_elements).__name__}"
        )
    dtype = result_type(elements, test_elements)
    elements, test_elements = as_tensor(elements).to(dtype), as_tensor(test_elements).to(dtype)
    if not test_elements.numel():
        return full_like(elements, invert, dtype=bool_dtype)
    ordered = ops.sort(test_elements.reshape(-1))[0]
    # NaN, which comes last, would lead a search astray; where it stands for infinity, that compares unequal to it.
    ascending = ops.where(ordered.isnan(), math.inf, ordered) if dtype.is_floating_point else ordered
    places = searchsorted(ascending, elements).clamp(max=ordered.numel() - 1)
    return ops.ne(ordered[places], elements) if invert else ops.eq(ordered[places], elements)
