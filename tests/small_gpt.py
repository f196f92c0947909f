"""A small GPT on any placement: tests import it, and run it as a program of one process or several.

    python small_gpt.py '{"devices": 4, "steps": 20, "runs": [["tp4", "graph"], ["dp4", "eager"]]}'

prints a line of JSON for each run, of rank 0 alone: its losses, and a digest of all dropout masks.
"""

import hashlib
import json
import sys
from collections.abc import Callable

import numpy as np
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F

S, B = tw.sbp.split, tw.sbp.broadcast
VOCABULARY, TIME, WIDTH, BATCH = 17, 8, 24, 6


class Attention(nn.Module):
    """Causal attention of several heads."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.output = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        layers = self.query, self.key, self.value
        q, k, v = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in layers)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """Attention and an MLP that ends in dropout, each on top of what it reads; gives the mask of the dropout, too."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(heads)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        dropped = self.mlp(self.norm2(x))
        return x + dropped, dropped.detach() != 0


class GPT(nn.Module):
    """Two blocks between an embedding and a head."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(tw.randn(TIME, WIDTH) * 0.1)
        self.blocks = nn.ModuleList([Block(heads), Block(heads)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x, masks = self.tokens(tokens) + self.places, []
        for block in self.blocks:
            x, mask = block(x)
            masks.append(mask)
        return self.head(self.norm(x)), masks


def megatron(heads: int) -> Callable:
    """Attention by heads, the MLP by columns, then by rows."""
    unit = WIDTH // heads
    columns = {"query": unit, "key": unit, "value": unit, "mlp.0": 1}
    rows = {"output": unit, "mlp.2": 1}

    def layout(name: str, tensor: tw.Tensor):
        for key, size in columns.items():
            if f"{key}.weight" in name or f"{key}.bias" in name:
                return S(0, unit=size)
        for key, size in rows.items():
            if f"{key}.weight" in name:
                return S(1, unit=size)
        return B

    return layout


class Plan:
    """Where a model and its data lie: ranks, the layout of each parameter, and that of the data."""

    def __init__(self, ranks: list, parameters: Callable, data, heads: int = 6) -> None:
        self.ranks, self.parameters, self.data, self.heads = ranks, parameters, data, heads

    @property
    def where(self) -> "tw.placement":
        return tw.placement("cpu", self.ranks)


def whole(name, tensor):
    """Every device has every parameter."""
    return B


PLANS = {
    "dp2": Plan([0, 1], whole, S(0)),
    "dp4": Plan([0, 1, 2, 3], whole, S(0)),
    "tp2": Plan([0, 1], megatron(6), B),
    "tp4": Plan([0, 1, 2, 3], megatron(4), B, heads=4),
    "tp4 of 6 heads": Plan([0, 1, 2, 3], megatron(6), B),
    "2x2": Plan([[0, 1], [2, 3]], lambda name, tensor: [B, megatron(6)(name, tensor)], [S(0), B]),
    "replicated": Plan([0, 1, 2, 3], whole, B),
    "rows": Plan([2, 0, 1], lambda name, tensor: S(0), S(0)),
}


def train(plan: Plan | None, steps: int, graph: bool = False, heads: int = 6, make: Callable | None = None):
    """Trains from a fixed seed on fixed text, on one device without a plan.

    Returns: (loss, norm of the gradients) of each step, a digest of all dropout masks, and the model.
    """
    tw.manual_seed(0)
    rng = np.random.default_rng(0)
    model = GPT(plan.heads if plan else heads)
    if plan:
        model.to_global(plan.where, [B] * plan.where.ndim)  # every process has made the whole
        model.to_global(plan.where, plan.parameters)
    optimizer = make(model.parameters()) if make else tw.optim.AdamW(model.parameters(), lr=0.01)

    def step(inputs, targets):
        logits, masks = model(inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach(), norm, masks

    run = tw.jit(step) if graph else step
    curve, digest = [], hashlib.sha256()
    for _ in range(steps):
        text = tw.tensor(rng.integers(0, VOCABULARY, (BATCH, TIME + 1)) // 2)
        inputs, targets = text[:, :-1], text[:, 1:]
        if plan:
            inputs, targets = (tw.tensor(t, placement=plan.where, sbp=plan.data) for t in (inputs, targets))
        loss, norm, masks = run(inputs, targets)
        curve.append((loss.item(), norm.item()))
        for mask in masks:
            digest.update(mask.numpy().tobytes())
    return np.array(curve), digest.hexdigest(), model


def main() -> None:
    """Runs what the first argument says."""
    settings = json.loads(sys.argv[1])
    if settings["devices"]:
        tw.env.init(devices_per_process=settings["devices"])
    for name, mode in settings["runs"]:
        curve, digest, _ = train(PLANS[name], settings["steps"], mode == "graph")
        if 0 in tw.env.addressable_ranks():
            print(json.dumps({"name": name, "mode": mode, "curve": curve.tolist(), "masks": digest}))


if __name__ == "__main__":
    main()
