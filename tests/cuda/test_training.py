"""Whole training steps on CUDA: the examples' networks learn what they learn on the CPU."""

from collections.abc import Callable

import numpy as np
import thalweg as tw
from example_modules import example
from parallel_steps import gpt_losses, learn
from thalweg.nn import functional as F


def digits_losses(device: str) -> list[list[float]]:
    tw.manual_seed(0)
    train_digits = example("train_digits")
    model = train_digits.make_model().to(device)
    train, _ = train_digits.load_data(0)
    images = tw.stack([train[i][0] for i in range(8)]).to(device)
    digits = tw.stack([train[i][1] for i in range(8)]).to(device)

    def loss_of(model: tw.nn.Module, images: tw.Tensor, digits: tw.Tensor) -> tw.Tensor:
        return F.cross_entropy(model(images), digits)

    losses = learn(model, (images, digits), loss_of, 5e-3, steps=4)
    model.eval()
    return [*losses, [loss_of(model, images, digits).item(), 0.0]]


def learns_as_on_the_cpu(losses: Callable[[str], list[list[float]]]) -> None:
    expected = losses("cpu")
    assert expected[3][0] < expected[0][0]
    assert np.allclose(losses("cuda"), expected, rtol=1e-4)


def test_gpt_learns_as_on_the_cpu():
    learns_as_on_the_cpu(gpt_losses)


def test_digits_are_learnt_as_on_the_cpu():
    learns_as_on_the_cpu(digits_losses)
