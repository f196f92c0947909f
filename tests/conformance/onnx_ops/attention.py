"""Attention, by scaled_dot_product_attention where nothing comes between its steps, and rotary embedding."""

import thalweg as tw
import thalweg.nn.functional as F

from .registry import NotOffered, op


def _heads(x, heads):
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def _bias(node, q, k, mask, past, lengths):
    """All masks as one tensor to be added, or None."""
    rows, columns = q.shape[2], k.shape[2]
    bias = None
    if mask is not None:
        bias = mask
        if mask.dtype == tw.bool:
            bias = tw.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -float("inf"))
        if bias.shape[-1] < columns:
            bias = F.pad(bias, (0, columns - bias.shape[-1]), "constant", -float("inf"))
    allowed = None
    places = tw.arange(columns)
    if lengths is not None:
        allowed = (places < lengths.reshape(-1, 1)).reshape(-1, 1, 1, columns)
    if node.get("is_causal", 0):
        offset = past if lengths is None else (lengths.reshape(-1, 1, 1, 1) - rows)
        causal = places <= tw.arange(rows).reshape(-1, 1) + offset
        allowed = causal if allowed is None else allowed & causal
    if allowed is not None:
        extra = tw.zeros(allowed.shape, dtype=q.dtype).masked_fill(~allowed, -float("inf"))
        bias = extra if bias is None else bias + extra
    return bias


@op("Attention")
def attention(node, q, k, v, mask=None, past_k=None, past_v=None, lengths=None):
    node.refuse("left_window_size", -1)
    node.refuse("right_window_size", -1)
    flat = q.ndim == 3
    q, k, v = _heads(q, node.get("q_num_heads")), *(_heads(t, node.get("kv_num_heads")) for t in (k, v))
    past = 0 if past_k is None else past_k.shape[2]
    if past_k is not None:
        k, v = tw.cat([past_k, k], 2), tw.cat([past_v, v], 2)
    bias = _bias(node, q, k, mask, past, lengths)
    softcap, scale = node.get("softcap", 0.0), node.get("scale", q.shape[-1] ** -0.5)
    if softcap or node.wants(3):
        y, scores = _by_steps(node, q, k, v, bias, scale, softcap)
    else:
        y, scores = F.scaled_dot_product_attention(q, k, v, bias, scale=scale, enable_gqa=True), None
    return (y.transpose(1, 2).flatten(2) if flat else y), k, v, scores


def _by_steps(node, q, k, v, bias, scale, softcap):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    stages = [tw.matmul(q, k.mT) * scale]
    capped = softcap * tw.tanh(stages[0] / softcap) if softcap else stages[0]
    masked = capped if bias is None else capped + bias
    stages += [capped, masked]
    weights = tw.nan_to_num(F.softmax(masked, -1), 0.0)  # rows that see nothing
    stages.append(weights)
    return tw.matmul(weights, v), stages[node.get("qk_matmul_output_mode", 0)]


@op("FlexAttention")
def flex_attention(node, q, k, v):
    if node.get("score_mod") is not None or node.get("prob_mod") is not None:
        raise NotOffered("FlexAttention with graphs of its own")
    return F.scaled_dot_product_attention(q, k, v, scale=node.get("scale"), enable_gqa=True)


@op("RotaryEmbedding")
def rotary_embedding(node, x, cos, sin, positions=None):
    flat = x.ndim == 3
    x = _heads(x, node.get("num_heads")).transpose(1, 2)  # [N, T, heads, size]
    if positions is not None:
        cos, sin = cos[positions], sin[positions]
    size = node.get("rotary_embedding_dim", 0) or x.shape[-1]
    turned, rest = x[..., :size], x[..., size:]
    cos, sin = cos[..., : size // 2].unsqueeze(2), sin[..., : size // 2].unsqueeze(2)
    if node.get("interleaved", 0):
        a, b = turned[..., 0::2], turned[..., 1::2]
        turned = tw.stack([cos * a - sin * b, sin * a + cos * b], -1).flatten(-2)
    else:
        a, b = turned.chunk(2, -1)
        turned = tw.cat([cos * a - sin * b, sin * a + cos * b], -1)
    x = tw.cat([turned, rest], -1)
    return x.flatten(2) if flat else x.transpose(1, 2)
