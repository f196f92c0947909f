"""Attention with several heads."""

from __future__ import annotations

import math

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn import init
from thalweg.nn.module import Module
from thalweg.nn.modules.linear import Linear
from thalweg.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """softmax(q kᵀ / sqrt(head size) + mask) v in `num_heads` heads, between linear maps (Vaswani et al., 2017).

    Inputs: query [L, N, embed_dim], key [S, N, kdim], value [S, N, vdim], the batch first with batch_first, or all
    without N; key_padding_mask [N, S], attn_mask [L, S] or [N · num_heads, L, S]: bool, True where attention is barred,
    or floating, added to the scores. Result: output of the query's shape, and the weights [N, L, S] (averaged over
    heads) or [N, num_heads, L, S], or None without need_weights, which is faster.

    Args:
        embed_dim, num_heads: heads have size embed_dim / num_heads.
        dropout: probability of dropout on the weights, in training.
        bias: biases in the linear maps.
        add_bias_kv: append a learnt key and value to the sequence.
        add_zero_attn: append a key and value of zeros.
        kdim, vdim: sizes of key and value; default embed_dim.
        batch_first: the batch is dim 0.

    Call options: need_weights, average_attn_weights; is_causal says that attn_mask is the causal one, which allows a
    faster path.

    >>> import thalweg as tw
    >>> output, weights = tw.nn.MultiheadAttention(8, 2, batch_first=True)(*[tw.ones(3, 5, 8)] * 3)
    >>> tuple(output.shape), tuple(weights.shape)
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(
        self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
        vdim=None, batch_first=False, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: heads that divide embed_dim are wanted, got {num_heads} for {embed_dim}"
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        same = self._qkv_same_embed_dim
        shapes = {
            "in_proj_weight": (3 * embed_dim, embed_dim) if same else None,
            "q_proj_weight": None if same else (embed_dim, embed_dim),
            "k_proj_weight": None if same else (embed_dim, self.kdim),
            "v_proj_weight": None if same else (embed_dim, self.vdim),
            "in_proj_bias": (3 * embed_dim,) if bias else None,
            "bias_k": (1, 1, embed_dim) if add_bias_kv else None,
            "bias_v": (1, 1, embed_dim) if add_bias_kv else None,
        }
        for name, shape in shapes.items():
            parameter = None if shape is None else Parameter(tw.empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, parameter)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
        is_causal=False,
    ):  # fmt: skip
        batched = self._check_inputs(query, key, value, key_padding_mask, attn_mask)
        if is_causal and attn_mask is None:
            raise ValueError("MultiheadAttention: is_causal describes attn_mask, which is wanted, got None")
        q, k, v = self._project(query, key, value)  # the inputs themselves, so that equal ones are seen as such
        if not batched:
            q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)
        # From here on [N, L, E]. Appended keys are open to every query, so the fast path is not for them.
        appended = self.bias_k is not None or self.add_zero_attn
        causal = is_causal and key_padding_mask is None and not need_weights and not appended
        mask = None if causal else _merge_masks(attn_mask, key_padding_mask, q, self.num_heads)
        k, v, mask = self._append_keys(k, v, mask)
        q, k, v = (t.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for t in (q, k, v))
        output, weights = self._attend(q, k, v, mask, causal, need_weights)
        output = self.out_proj(output.transpose(1, 2).flatten(2))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return (output if self.batch_first else output.transpose(0, 1)), weights

    def _check_inputs(self, query, key, value, key_padding_mask, attn_mask):
        """Whether the inputs have a batch dim; refuses those that do not fit together."""
        dims = query.dim()
        if dims not in (2, 3) or key.dim() != dims or value.dim() != dims:
            got = f"{dims}, {key.dim()} and {value.dim()}"
            raise ValueError(f"MultiheadAttention: query, key and value of 2 or of 3 dims are wanted, got {got}")
        sizes = {"query": self.embed_dim, "key": self.kdim, "value": self.vdim}
        for (name, size), tensor in zip(sizes.items(), (query, key, value)):
            if tensor.shape[-1] != size:
                raise ValueError(f"MultiheadAttention: {name} of size {size} is wanted, got {tensor.shape[-1]}")
        if key.shape[:-1] != value.shape[:-1]:
            got = f"{list(key.shape)} and {list(value.shape)}"
            raise ValueError(f"MultiheadAttention: key and value of one length and batch are wanted, got {got}")
        time = 1 if dims == 3 and self.batch_first else 0
        batch = query.shape[1 - time] if dims == 3 else 1
        if dims == 3 and key.shape[1 - time] != batch:
            raise ValueError(f"MultiheadAttention: key of batch {batch} is wanted, got {key.shape[1 - time]}")
        length, source = query.shape[time], key.shape[time]
        wanted = [(length, source), (batch * self.num_heads, length, source)]
        if attn_mask is not None and tuple(attn_mask.shape) not in wanted:
            raise ValueError(f"MultiheadAttention: attn_mask of {wanted} is wanted, got {list(attn_mask.shape)}")
        padding_shape = (batch, source) if dims == 3 else (source,)
        if key_padding_mask is not None and tuple(key_padding_mask.shape) != padding_shape:
            got = list(key_padding_mask.shape)
            raise ValueError(f"MultiheadAttention: key_padding_mask {list(padding_shape)} is wanted, got {got}")
        return dims == 3

    def _project(self, query, key, value):
        bias = self.in_proj_bias
        if self._qkv_same_embed_dim and query is key and key is value:
            return F.linear(query, self.in_proj_weight, bias).chunk(3, -1)
        if self._qkv_same_embed_dim:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]

    def _append_keys(self, k, v, mask):
        """Appends the learnt and the zero key and value, which every query may attend to."""
        batch = k.shape[0]
        appended = []
        if self.bias_k is not None:
            appended.append((self.bias_k.expand(batch, 1, -1), self.bias_v.expand(batch, 1, -1)))
        if self.add_zero_attn:
            zero = k.new_zeros((batch, 1, self.embed_dim))
            appended.append((zero, zero))
        if not appended:
            return k, v, mask
        k = tw.cat([k, *(pair[0] for pair in appended)], 1)
        v = tw.cat([v, *(pair[1] for pair in appended)], 1)
        return k, v, None if mask is None else F.pad(mask, (0, len(appended)))

    def _attend(self, q, k, v, mask, causal, need_weights):
        """The output [N, heads, L, head size] and, where needed, the weights after dropout."""
        dropout = self.dropout if self.training else 0.0
        if not need_weights:
            return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal), None
        scores = (q * (1 / math.sqrt(self.head_dim))) @ k.transpose(-2, -1)
        weights = F.softmax(scores if mask is None else scores + mask, -1)
        if dropout:
            weights = F.dropout(weights, dropout)
        return weights @ v, weights


def _merge_masks(attn_mask, key_padding_mask, like, heads):
    """One floating mask that broadcasts to [N, heads, L, S], or None."""
    masks = []
    if attn_mask is not None:
        mask = as_float_mask(attn_mask, like)
        masks.append(mask if mask.dim() == 2 else mask.unflatten(0, (-1, heads)))
    if key_padding_mask is not None:
        masks.append(as_float_mask(key_padding_mask, like)[:, None, None, :])
    return sum(masks[1:], masks[0]) if masks else None


def as_float_mask(mask, like):
    """A mask that is added to scores: bool True becomes -inf; the dtype is that of `like`."""
    if mask.dtype == tw.bool:
        return like.new_zeros(mask.shape).masked_fill(mask, -math.inf)
    if not mask.is_floating_point():
        raise TypeError(f"attention mask: bool or a floating dtype is wanted, got {mask.dtype}")
    return mask.to(like.dtype)
