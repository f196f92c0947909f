"""Whole training steps on CUDA: the examples' networks learn what they learn on the CPU."""

from collections.abc import Callable

import numpy as np
import thalweg as tw
from example_modules import example
from thalweg.nn import functional as F


def losses_of(model: tw.nn.Module, lr: float, loss_of: Callable[[tw.nn.Module], tw.Tensor]) -> list[float]:
    """The losses of four steps."""
    optimizer = tw.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for _ in range(4):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        tw.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def gpt_losses(device: str) -> list[float]:
    tw.manual_seed(0)
    model = example("gpt").GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.0).to(device)
    tokens = tw.tensor(np.random.default_rng(0).integers(0, 11, (3, 9))).to(device)

    def loss_of(model: tw.nn.Module) -> tw.Tensor:
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    losses = losses_of(model, 3e-2, loss_of)
    assert {p.device.type for p in model.parameters()} == {device}
    return losses


def digits_losses(device: str) -> list[float]:
    tw.manual_seed(0)
    train_digits = example("train_digits")
    model = train_digits.make_model().to(device)
    train, _ = train_digits.load_data(0)
    images = tw.stack([train[i][0] for i in range(8)]).to(device)
    digits = tw.stack([train[i][1] for i in range(8)]).to(device)
    losses = losses_of(model, 5e-3, lambda model: F.cross_entropy(model(images), digits))
    model.eval()
    return [*losses, F.cross_entropy(model(images), digits).item()]


def learns_as_on_the_cpu(losses: Callable[[str], list[float]]) -> None:
    expected = losses("cpu")
    assert expected[3] < expected[0]
    assert np.allclose(losses("cuda"), expected, rtol=1e-4)


def test_gpt_learns_as_on_the_cpu():
    learns_as_on_the_cpu(gpt_losses)


def test_digits_are_learnt_as_on_the_cpu():
    learns_as_on_the_cpu(digits_losses)
