"""scaled_dot_product_attention: the fused op where it serves, else written with other ops."""

import math

from thalweg._core._tensor import Tensor
from thalweg._registry import NN_FUNCTIONS, export, ops
from thalweg.frontend.global_creation import beside

__all__ = ["attention_by_ops", "scaled_dot_product_attention"]


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, dropout_p: float) -> None:
    name = "scaled_dot_product_attention"
    shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(f"{name}: at least 2 dims are wanted, got {shapes}")
    if not (query.dtype == key.dtype == value.dtype) or not query.dtype.is_floating_point:
        raise RuntimeError(f"{name}: one floating dtype is wanted, got {query.dtype}, {key.dtype} and {value.dtype}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(f"{name}: the shapes do not fit: {shapes}")
    if mask is not None and is_causal:
        raise RuntimeError(f"{name}: attn_mask or is_causal is wanted, got both")
    if mask is not None and mask.dtype.name != "bool" and mask.dtype != query.dtype:
        raise RuntimeError(f"{name}: a mask of dtype bool or {query.dtype} is wanted, got {mask.dtype}")
    if not 0 <= dropout_p <= 1:
        raise ValueError(f"{name}: dropout_p from 0 to 1 is wanted, got {dropout_p}")


@export(nn=True)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(scale · query keyᵀ + mask) value: [..., L, E], [..., S, E], [..., S, F] to [..., L, F].

    Args:
        attn_mask: broadcasts to [..., L, S]; bool (true: takes part) or floating (added).
        dropout_p: weights are dropped with this probability.
        is_causal: row i sees columns up to i.
        scale: by default 1 / √E.
        enable_gqa: query may have a multiple of the heads (dim -3) of key and value, which are shared in order.

    A row that sees nothing is 0, with finite gradients. Weights are not kept for backward, but computed again.

    >>> import thalweg as tw
    >>> q = tw.zeros(1, 2, 3, 4)
    >>> tuple(tw.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape)
    (1, 2, 3, 4)
    """
    _check(query, key, value, attn_mask, is_causal, dropout_p)
    scale = (1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0) if scale is None else scale
    fused = dropout_p == 0 and not (attn_mask is not None and attn_mask.requires_grad)
    if fused and _one_batch(query, key, value, enable_gqa):
        return _fused(query, key, value, attn_mask, is_causal, scale)
    return attention_by_ops(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _one_batch(query: Tensor, key: Tensor, value: Tensor, grouped: bool) -> bool:
    """Whether leading dims agree, but for the heads of grouped attention."""
    if not query.dim() == key.dim() == value.dim():
        return False
    if not grouped or query.dim() < 3:
        return query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
    same = query.shape[:-3] == key.shape[:-3] == value.shape[:-3] and key.shape[-3] == value.shape[-3]
    return same and key.shape[-3] > 0 and query.shape[-3] % key.shape[-3] == 0


def _fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    lead = list(query.shape[:-2])
    if mask is not None:
        if mask.dim() < 2:
            mask = mask.expand([query.shape[-2], key.shape[-2]])
        elif query.dim() != 4 and mask.dim() > 2:
            full = mask.expand([*lead, query.shape[-2], key.shape[-2]])
            mask = full.unsqueeze(1) if query.dim() == 3 else full.reshape([-1, *full.shape[-3:]])
    q, k, v = (_by_position(x) for x in (query, key, value))
    result = ops.attention(q, k, v, mask, scale, is_causal)
    if query.dim() == 2:
        return result.reshape(list(result.shape[1:2]) + list(result.shape[3:]))
    if query.dim() == 3:
        return result.select(2, 0)
    heads = result.transpose(1, 2)
    return heads if query.dim() == 4 else heads.reshape([*lead, *heads.shape[-2:]])


def _by_position(x: Tensor) -> Tensor:
    """[..., H, L, E] as [B, L, H, E]."""
    if x.dim() == 2:
        x = x.unsqueeze(0)
    if x.dim() == 3:
        return x.unsqueeze(2)
    if x.dim() > 4:
        count = 1
        for size in x.shape[:-3]:
            count *= size
        x = x.reshape([count, *x.shape[-3:]])
    return x.transpose(1, 2)


def attention_by_ops(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float,
    enable_gqa: bool,
) -> Tensor:
    """The same with the weights in memory: any leading dims, dropout, gradients of the mask."""
    if query.dtype.itemsize == 2:  # as the fused op, in float32
        mask = mask.float() if mask is not None and mask.dtype.is_floating_point else mask
        q, k, v = query.float(), key.float(), value.float()
        return attention_by_ops(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa).to(query.dtype)
    if enable_gqa and query.dim() > 2 and query.shape[-3] != key.shape[-3]:
        share = query.shape[-3] // max(key.shape[-3], 1)
        if share * key.shape[-3] != query.shape[-3]:
            raise RuntimeError(
                f"scaled_dot_product_attention: query heads that are a multiple of {key.shape[-3]} are wanted, "
                f"got {query.shape[-3]}"
            )
        key, value = (x.repeat_interleave(share, -3) for x in (key, value))
    scores = ops.matmul(query * scale, key.transpose(-2, -1))
    if is_causal:
        with beside(query):
            mask = ops.full([query.shape[-2], key.shape[-2]], True).tril()
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf) if mask.dtype.name == "bool" else scores + mask
    nothing = (scores == -math.inf).all(-1, keepdim=True)
    weights = NN_FUNCTIONS["softmax"](scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)
    if dropout_p > 0:
        weights = NN_FUNCTIONS["dropout"](weights, dropout_p)
    return ops.matmul(weights, value)
