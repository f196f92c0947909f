"""A small GPT: token embedding, blocks of causal attention and MLP behind layer norms, a linear head.

Shapes: B batch, T time, C width, H heads, D width of a head, V vocabulary. Source: Radford et al., 2019, with rotary
positions (Su et al., 2021), which learn several times faster than embedded ones.
"""

import math

import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F


class Rotary(nn.Module):
    """Turns each pair of numbers by an angle that grows with the position: (B, T, H, D) to (B, T, H, D).

    Products of turned queries and keys depend on how far apart their positions are, not on where they lie.
    """

    def __init__(self, context: int, size: int, longest: float = 1000.0) -> None:
        super().__init__()
        rates = longest ** (-tw.arange(0, size, 2) / size)
        angles = tw.arange(context)[:, None, None] * rates
        self.register_buffer("turns", tw.polar(tw.ones_like(angles), angles), persistent=False)

    def forward(self, x_BTHD: tw.Tensor) -> tw.Tensor:
        pairs = tw.view_as_complex(x_BTHD.unflatten(-1, (-1, 2)))
        return tw.view_as_real(pairs * self.turns[: x_BTHD.shape[1]]).flatten(-2)


class Attention(nn.Module):
    """Causal self-attention of several heads, (B, T, C) to (B, T, C)."""

    def __init__(self, context: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.rotary = Rotary(context, width // heads)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTC: tw.Tensor) -> tw.Tensor:
        q, k, v = (layer(x_BTC).unflatten(-1, (self.heads, -1)) for layer in (self.query, self.key, self.value))
        q, k, v = (x_BTHD.transpose(1, 2) for x_BTHD in (self.rotary(q), self.rotary(k), v))
        mixed_BHTD = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.dropout(self.output(mixed_BHTD.transpose(1, 2).flatten(-2)))


class Block(nn.Module):
    """x + attention, then + MLP, each of the normalised sum so far."""

    def __init__(self, context: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(context, width, heads, dropout)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x_BTC: tw.Tensor) -> tw.Tensor:
        x_BTC = x_BTC + self.attention(self.norm1(x_BTC))
        return x_BTC + self.mlp(self.norm2(x_BTC))


class GPT(nn.Module):
    """Predicts the next token at every position: int64 tokens (B, T) to logits (B, T, V), T up to `context`."""

    def __init__(self, vocabulary: int, context: int, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block(context, width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._initialize)
        for block in self.blocks:  # the sum over the layers keeps its variance
            for last in (block.attention.output, block.mlp[2]):
                nn.init.normal_(last.weight, std=1 / math.sqrt(2 * layers * width))

    @staticmethod
    def _initialize(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=1 / math.sqrt(module.weight.shape[1]))
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens_BT: tw.Tensor) -> tw.Tensor:
        x_BTC = self.dropout(self.tokens(tokens_BT))
        return self.head(self.norm(self.blocks(x_BTC)))

    @tw.no_grad()
    def generate(self, tokens_BT: tw.Tensor, count: int, temperature: float = 0.8) -> tw.Tensor:
        """Appends `count` tokens, each drawn from the prediction sharpened by `temperature`."""
        for _ in range(count):
            logits_BV = self(tokens_BT[:, -self.context :])[:, -1]
            drawn_B1 = tw.multinomial((logits_BV / temperature).softmax(-1), 1)
            tokens_BT = tw.cat([tokens_BT, drawn_B1], dim=1)
        return tokens_BT
