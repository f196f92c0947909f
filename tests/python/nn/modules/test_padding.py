"""Padding modules against numpy.pad."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

MODES = {"Reflection": "reflect", "Replication": "edge", "Circular": "wrap"}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", list(MODES))
def test_modes(kind, dims):
    x = np.arange(2.0 * 4**dims).reshape((1, 2) + (4,) * dims)
    padding = list(range(1, 4)) * 2
    padding = tuple(padding[: 2 * dims])
    pairs = [(0, 0), (0, 0)] + [(padding[2 * i], padding[2 * i + 1]) for i in reversed(range(dims))]
    module = getattr(nn, f"{kind}Pad{dims}d")
    np.testing.assert_array_equal(module(padding)(tw.tensor(x)).numpy(), np.pad(x, pairs, mode=MODES[kind]))
    np.testing.assert_array_equal(module(padding)(tw.tensor(x[0])).numpy(), np.pad(x, pairs, mode=MODES[kind])[0])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_constants(dims):
    x = np.ones((1, 1) + (2,) * dims)
    pairs = [(0, 0), (0, 0)] + [(1, 1)] * dims
    constant, zero = getattr(nn, f"ConstantPad{dims}d")(1, 7.0), getattr(nn, f"ZeroPad{dims}d")(1)
    np.testing.assert_array_equal(constant(tw.tensor(x)).numpy(), np.pad(x, pairs, constant_values=7))
    np.testing.assert_array_equal(zero(tw.tensor(x)).numpy(), np.pad(x, pairs))


def test_negative_padding_crops():
    assert nn.ZeroPad1d((-1, 1))(tw.tensor([[1.0, 2.0]])).tolist() == [[2.0, 0.0]]


def test_errors():
    with pytest.raises(ValueError, match="4 ints are wanted"):
        nn.ZeroPad2d((1, 2))
    with pytest.raises(ValueError, match="2 or 3 dims are wanted"):
        nn.CircularPad1d(1)(tw.ones(3))
