"""A character-level GPT: 6 layers, width 384, 6 heads, 256 positions, 65 characters; 10.7M parameters."""

from typing import Any

import numpy as np

from bench.frameworks import Framework

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY, BATCH = 6, 384, 6, 256, 65, 8
_WEIGHTS = LAYERS * 12 * WIDTH * WIDTH + VOCABULARY * WIDTH
_ATTENTION = LAYERS * 4 * CONTEXT * CONTEXT * WIDTH / 2  # of a sequence, forward; the causal half
FLOPS = BATCH * (CONTEXT * 6 * _WEIGHTS + 3 * _ATTENTION)


def build(fw: Framework) -> Any:
    """The module: token and position embeddings, pre-norm blocks, a head."""
    nn, F = fw.nn, fw.F

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            qkv = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, WIDTH // HEADS)
            q, k, v = (qkv.select(2, i).transpose(1, 2) for i in range(3))
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(attended.transpose(1, 2).reshape(b, t, WIDTH))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids) + self.positions.weight
            return self.head(self.norm(self.blocks(x)))

    return GPT()


def batch(fw: Framework) -> tuple[Any, Any]:
    """Character numbers, and the same shifted by one."""
    ids = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, CONTEXT + 1))
    return fw.tensor(np.ascontiguousarray(ids[:, :-1])), fw.tensor(np.ascontiguousarray(ids[:, 1:]))


def loss(fw: Framework, model: Any, x: Any, y: Any) -> Any:
    """Mean cross entropy of the next character."""
    return fw.F.cross_entropy(model(x).view(-1, VOCABULARY), y.view(-1))


def optimizer(fw: Framework, model: Any) -> Any:
    """AdamW, all parameters in one kernel."""
    return fw.module.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
