"""The Transformer: encoder and decoder layers, their stacks, and both together (Vaswani et al., 2017)."""

from __future__ import annotations

import copy
import math

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn import init
from thalweg.nn.module import Module
from thalweg.nn.modules.attention import MultiheadAttention
from thalweg.nn.modules.container import ModuleList
from thalweg.nn.modules.dropout import Dropout
from thalweg.nn.modules.linear import Linear
from thalweg.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]  # fmt: skip


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise ValueError(f"Transformer: activation 'relu', 'gelu' or a function is wanted, got {activation!r}")
    return getattr(F, activation)


class _Layer(Module):
    """The feed-forward block and the options that both kinds of layer have."""

    def _make_feed_forward(self, d_model, dim_feedforward, dropout, activation, bias, **at):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **at)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **at)
        self.activation = _activation(activation)

    def _make_residuals(self, count, d_model, eps, dropout, norm_first, bias, **at):
        self.norm_first = norm_first
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps, bias=bias, **at))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _residual(self, x, norm, block, dropout):
        """x plus the block's output, with the norm before the block or after the sum."""
        if self.norm_first:
            return x + dropout(block(norm(x)))
        return norm(x + dropout(block(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a feed-forward block, each with dropout, residual and layer norm.

    Inputs: src [S, N, d_model], or [N, S, d_model] with batch_first, or [S, d_model]; src_mask and
    src_key_padding_mask as MultiheadAttention's; is_causal says that src_mask is the causal one. Result: the shape of
    src.

    Args:
        d_model, nhead, dim_feedforward: the sizes.
        dropout: the probability, everywhere.
        activation: "relu", "gelu" or a function, in the feed-forward block.
        layer_norm_eps, bias: of the norms; of norms and linear maps.
        norm_first: normalise before each block rather than after its residual.

    >>> import thalweg as tw
    >>> tuple(tw.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(tw.ones(3, 5, 8)).shape)
    (3, 5, 8)
    """

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
        batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        at = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **at)
        self._make_feed_forward(d_model, dim_feedforward, dropout, activation, bias, **at)
        self._make_residuals(2, d_model, layer_norm_eps, dropout, norm_first, bias, **at)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def attend(x):
            return self.self_attn(
                x, x, x, src_key_padding_mask, need_weights=False, attn_mask=src_mask, is_causal=is_causal
            )[0]

        x = self._residual(src, self.norm1, attend, self.dropout1)
        return self._residual(x, self.norm2, self._feed_forward, self.dropout2)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output `memory`, then a feed-forward block.

    Inputs: tgt [T, N, d_model] and memory [S, N, d_model], with masks for each; options as TransformerEncoderLayer's.
    Result: the shape of tgt.
    """

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
        batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        at = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **at)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **at)
        self._make_feed_forward(d_model, dim_feedforward, dropout, activation, bias, **at)
        self._make_residuals(3, d_model, layer_norm_eps, dropout, norm_first, bias, **at)

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=False, memory_is_causal=False,
    ):  # fmt: skip
        def attend_self(x):
            return self.self_attn(
                x, x, x, tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask, is_causal=tgt_is_causal
            )[0]

        def attend_memory(x):
            return self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, need_weights=False, attn_mask=memory_mask,
                is_causal=memory_is_causal,
            )[0]  # fmt: skip

        x = self._residual(tgt, self.norm1, attend_self, self.dropout1)
        x = self._residual(x, self.norm2, attend_memory, self.dropout2)
        return self._residual(x, self.norm3, self._feed_forward, self.dropout3)


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, then `norm` where given.

    Inputs and result are the layer's. is_causal None is False: the mask is then always applied as given. The options
    enable_nested_tensor and mask_check are accepted, and change nothing.

    >>> import thalweg as tw
    >>> encoder = tw.nn.TransformerEncoder(tw.nn.TransformerEncoderLayer(8, 2, 16), num_layers=2)
    >>> tuple(encoder(tw.ones(5, 3, 8)).shape)
    (5, 3, 8)
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, then `norm` where given; inputs and result are the layer's."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(decoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=None, memory_is_causal=False,
    ):  # fmt: skip
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal),
                memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder.

    Inputs: src [S, N, d_model] and tgt [T, N, d_model], the batch first with batch_first, or without it, with masks as
    MultiheadAttention's. Result: the shape of tgt. Options are those of the layers, besides the numbers of layers;
    custom_encoder and custom_decoder take the place of the stacks.

    >>> import thalweg as tw
    >>> model = tw.nn.Transformer(8, 2, 1, 1, 16)
    >>> tuple(model(tw.ones(5, 3, 8), tw.ones(4, 3, 8)).shape)
    (4, 3, 8)
    """

    def __init__(
        self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
        activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
        norm_first=False, bias=True, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        at = {"device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        if custom_encoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **at)
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*options, **at), num_encoder_layers, norm)
        if custom_decoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **at)
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*options, **at), num_decoder_layers, norm)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
        tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
        memory_is_causal=False,
    ):  # fmt: skip
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            got = f"{src.shape[batch_dim]} and {tgt.shape[batch_dim]}"
            raise ValueError(f"Transformer: src and tgt of one batch size are wanted, got {got}")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            got = f"{src.shape[-1]} and {tgt.shape[-1]}"
            raise ValueError(f"Transformer: src and tgt of size {self.d_model} are wanted, got {got}")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
            memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """[sz, sz] with 0 where a position may look (itself and before) and -inf elsewhere."""
        return tw.triu(tw.full((sz, sz), -math.inf, dtype=dtype, device=device), diagonal=1)
