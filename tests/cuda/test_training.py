"""Whole training steps on CUDA: the example's GPT learns what it learns on the CPU."""

import sys
from pathlib import Path

import numpy as np
import thalweg as tw
from thalweg.nn import functional as F

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def losses_of(device: str) -> list[float]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        from gpt import GPT
    finally:
        sys.path.remove(str(EXAMPLES))
    tw.manual_seed(0)
    model = GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.0).to(device)
    optimizer = tw.optim.AdamW(model.parameters(), lr=3e-2)
    tokens = tw.tensor(np.random.default_rng(0).integers(0, 11, (3, 9))).to(device)
    losses = []
    for _ in range(4):
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        tw.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert {p.device.type for p in model.parameters()} == {device}
    return losses


def test_gpt_learns_as_on_the_cpu():
    expected = losses_of("cpu")
    assert expected[-1] < expected[0]
    assert np.allclose(losses_of("cuda"), expected, rtol=1e-4)
