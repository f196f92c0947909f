"""F.embedding and F.embedding_bag."""

from typing import Any

from thalweg._core._tensor import Tensor, op
from thalweg._registry import export, ops
from thalweg.autograd.modes import no_grad
from thalweg.composites.support import int64, require_none
from thalweg.frontend.dtypes import bfloat16, float16, float32
from thalweg.frontend.global_creation import beside


def _padding_row(name: str, padding_idx: int | None, rows: int) -> int:
    """padding_idx counted from the front, -1 for none."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise ValueError(f"{name}: padding_idx within {rows} rows is wanted, got {padding_idx}")
    return padding_idx % rows


def _renorm(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        op("embedding_renorm", True)(weight, input, max_norm, norm_type)


@export(nn=True)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` [rows, width] that `input` [*] names: [*, width].

    The row padding_idx gets no gradient. With max_norm, rows that are read are first scaled down in place to that
    norm. With scale_grad_by_freq a row's gradient is divided by how often it was read.

    Errors: IndexError for an index outside the table; NotImplementedError for sparse=True.
    """
    if sparse:
        raise NotImplementedError("embedding: sparse gradients are not supported")
    if weight.ndim != 2:
        raise RuntimeError(f"embedding: a weight of 2 dims is wanted, got shape {list(weight.shape)}")
    padding = _padding_row("embedding", padding_idx, weight.shape[0])
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    return ops.embedding_lookup(weight, input, padding, scale_grad_by_freq)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Tensor, Tensor, int]:
    """Flat indices, the bag of each, and the number of bags; what is in none counts to one more."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: 2-dim input takes no offsets: each row is a bag")
        count, size = input.shape
        with beside(input):
            bags = ops.range_fill(count, 0, 1, dtype=int64).unsqueeze(1).expand(count, size)
        return input.reshape(-1), bags.reshape(-1), count
    if input.ndim != 1:
        raise ValueError(f"embedding_bag: 1 or 2 dims of input are wanted, got {input.ndim}")
    if offsets is None or offsets.ndim != 1:
        raise ValueError("embedding_bag: 1-dim input needs 1-dim offsets")
    if include_last_offset and not offsets.shape[0]:
        raise ValueError("embedding_bag: include_last_offset wants at least one offset")
    size, count = input.shape[0], offsets.shape[0] - include_last_offset
    message = f"embedding_bag: offsets must begin at 0 and rise to at most {size}"
    require_none(offsets[:1] != 0, ValueError, message)
    require_none(offsets[1:] < offsets[:-1], ValueError, message)
    require_none(offsets[-1:] > size, ValueError, message)
    with beside(input):
        places = ops.range_fill(size, 0, 1, dtype=int64)
    if not offsets.shape[0]:
        return input, places * 0, 0
    return input, ops.searchsorted_rows(offsets.long(), places, right=True) - 1, count


@export(nn=True)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of `weight` [rows, width]: [bags, width].

    `input` is [bags, size], or [indices] with `offsets` [bags] where each bag begins (with include_last_offset also
    where the last one ends). per_sample_weights has the shape of input, for mode "sum". An empty bag gives zeros;
    padding_idx is left out of its bag.
    """
    if sparse:
        raise NotImplementedError("embedding_bag: sparse gradients are not supported")
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode must be sum, mean or max, got {mode}")
    if weight.ndim != 2:
        raise RuntimeError(f"embedding_bag: a weight of 2 dims is wanted, got shape {list(weight.shape)}")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(f"embedding_bag: per_sample_weights go with mode sum only, got {mode}")
        if per_sample_weights.shape != input.shape:
            raise ValueError(f"embedding_bag: per_sample_weights of shape {list(input.shape)} are wanted, got "
                             f"{list(per_sample_weights.shape)}")  # fmt: skip
    if scale_grad_by_freq and mode == "max":
        raise RuntimeError("embedding_bag: mode max does not scale gradients by frequency")
    padding = _padding_row("embedding_bag", padding_idx, weight.shape[0])
    indices, bags, count = _bags(input, offsets, include_last_offset)
    scales = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if max_norm is not None:
        _renorm(weight, indices, max_norm, norm_type)
    if padding >= 0:
        bags = ops.where(ops.eq(indices, padding), count, bags)
    rows: Any = ops.embedding_lookup(weight, indices, -1, scale_grad_by_freq)
    if weight.dtype in (float16, bfloat16):  # summed in float32
        rows = rows.to(float32)
    if scales is not None:
        rows = rows * scales.to(rows.dtype).unsqueeze(1)
    return _reduce_bags(rows, bags, count + 1, mode)[:count].to(weight.dtype)


def _reduce_bags(rows: Tensor, bags: Tensor, count: int, mode: str) -> Tensor:
    zeros = rows.new_zeros([count, rows.shape[1]])
    if mode == "max":
        places = bags.unsqueeze(1).expand(rows.shape)
        return ops.scatter_elements(zeros, 0, places, rows, "amax", False)
    result = ops.index_put(zeros, [bags], rows, True)
    if mode == "sum":
        return result
    sizes = ops.index_put(rows.new_zeros([count]), [bags], rows.new_ones([bags.shape[0]]), True)
    return result / ops.clamp(sizes, min=1).unsqueeze(1)
