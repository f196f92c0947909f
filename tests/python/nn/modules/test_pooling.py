"""Pooling modules against windows cut in NumPy."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

X1 = np.random.default_rng(0).normal(size=(2, 3, 10))


def windows(x, size, stride, fill=0.0, padding=0):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding)), constant_values=fill)
    return np.stack([x[:, :, s : s + size] for s in range(0, x.shape[2] - size + 1, stride)], axis=2)


def check(module, x, expected):
    np.testing.assert_allclose(module(tw.tensor(x)).numpy(), expected, rtol=1e-10)


def test_max_pool1d():
    check(nn.MaxPool1d(3), X1, windows(X1, 3, 3).max(-1))
    check(nn.MaxPool1d(3, stride=2, padding=1), X1, windows(X1, 3, 2, -np.inf, 1).max(-1))


def test_avg_pool1d():
    check(nn.AvgPool1d(3, 2, padding=1), X1, windows(X1, 3, 2, 0, 1).mean(-1))
    counts = windows(np.ones_like(X1), 3, 2, 0, 1).sum(-1)
    check(nn.AvgPool1d(3, 2, 1, count_include_pad=False), X1, windows(X1, 3, 2, 0, 1).sum(-1) / counts)


def test_lp_pool1d():
    x = np.abs(X1)
    check(nn.LPPool1d(3, 4, 2), x, (windows(x, 4, 2) ** 3).sum(-1) ** (1 / 3))


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize(("name", "reduce"), [("MaxPool", np.max), ("AvgPool", np.mean)])
def test_blocks_in_more_dims(name, reduce, dims):
    x = np.random.default_rng(1).normal(size=(2, 3) + (4,) * dims)
    blocks = x.reshape((2, 3) + (2, 2) * dims)
    check(getattr(nn, f"{name}{dims}d")(2), x, reduce(blocks, axis=tuple(range(3, 3 + 2 * dims, 2))))


def test_ceil_mode_and_divisor():
    assert tuple(nn.MaxPool2d(2, ceil_mode=True)(tw.ones(1, 1, 5, 5)).shape) == (1, 1, 3, 3)
    assert nn.AvgPool2d(2, divisor_override=1)(tw.ones(1, 1, 2, 2)).item() == 4


@pytest.mark.parametrize(("name", "reduce"), [("Max", np.max), ("Avg", np.mean)])
def test_adaptive(name, reduce):
    cuts = [(i * 10 // 4, -(-(i + 1) * 10 // 4)) for i in range(4)]
    expected = np.stack([reduce(X1[:, :, a:b], axis=2) for a, b in cuts], axis=2)
    check(getattr(nn, f"Adaptive{name}Pool1d")(4), X1, expected)
    module = getattr(nn, f"Adaptive{name}Pool2d")((None, 1))
    check(module, X1, reduce(X1, axis=2, keepdims=True))
    module = getattr(nn, f"Adaptive{name}Pool3d")(1)
    x = X1.reshape(2, 3, 1, 2, 5)
    check(module, x, reduce(x, axis=(2, 3, 4), keepdims=True))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpool_puts_maxima_back(dims):
    x = tw.randn(1, 2, *(4,) * dims)
    values, indices = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)(x)
    back = getattr(nn, f"MaxUnpool{dims}d")(2)(values, indices)
    assert tuple(back.shape) == tuple(x.shape)
    assert (back != 0).sum().item() == values.numel() and back.sum().item() == pytest.approx(
        values.sum().item(), rel=1e-5
    )
