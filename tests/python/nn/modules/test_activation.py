"""Every activation module against its formula in NumPy."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

X = np.linspace(-4, 4, 24).reshape(2, 3, 4)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, dim):
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(x))


ERF = np.vectorize(math.erf)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

CASES = [
    (nn.ReLU(), np.maximum(X, 0)),
    (nn.ReLU6(), np.clip(X, 0, 6)),
    (nn.LeakyReLU(0.2), np.where(X > 0, X, 0.2 * X)),
    (nn.RReLU(0.2, 0.4).eval(), np.where(X > 0, X, 0.3 * X)),
    (nn.ELU(0.5), elu(X, 0.5)),
    (nn.CELU(2.0), np.maximum(X, 0) + np.minimum(0, 2 * np.expm1(X / 2))),
    (nn.SELU(), SELU_SCALE * elu(X, SELU_ALPHA)),
    (nn.GELU(), X * (1 + ERF(X / math.sqrt(2))) / 2),
    (nn.GELU("tanh"), X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))) / 2),
    (nn.SiLU(), X * sigmoid(X)),
    (nn.Mish(), X * np.tanh(np.log1p(np.exp(X)))),
    (nn.Hardswish(), X * np.clip(X + 3, 0, 6) / 6),
    (nn.Hardsigmoid(), np.clip(X + 3, 0, 6) / 6),
    (nn.Hardtanh(-2, 1), np.clip(X, -2, 1)),
    (nn.Hardshrink(1.0), np.where(np.abs(X) > 1, X, 0)),
    (nn.Softshrink(1.0), np.sign(X) * np.maximum(np.abs(X) - 1, 0)),
    (nn.Tanhshrink(), X - np.tanh(X)),
    (nn.Softplus(2.0, 3.0), np.where(2 * X > 3, X, np.log1p(np.exp(2 * X)) / 2)),
    (nn.Softsign(), X / (1 + np.abs(X))),
    (nn.Sigmoid(), sigmoid(X)),
    (nn.LogSigmoid(), np.log(sigmoid(X))),
    (nn.Tanh(), np.tanh(X)),
    (nn.Threshold(0.5, 9.0), np.where(X > 0.5, X, 9.0)),
    (nn.GLU(), X[..., :2] * sigmoid(X[..., 2:])),
    (nn.PReLU(init=0.1).double(), np.where(X > 0, X, 0.1 * X)),
    (nn.Softmax(1), softmax(X, 1)),
    (nn.Softmin(2), softmax(-X, 2)),
    (nn.LogSoftmax(0), np.log(softmax(X, 0))),
    (nn.Softmax2d(), softmax(X, 0)),
]


@pytest.mark.parametrize(("module", "expected"), CASES, ids=[repr(module) for module, _ in CASES])
def test_formula(module, expected):
    np.testing.assert_allclose(module(tw.tensor(X)).detach().numpy(), expected, rtol=1e-6, atol=1e-12)


def test_prelu_learns_one_slope_a_channel():
    module = nn.PReLU(3)
    assert tuple(module.weight.shape) == (3,) and module.weight.tolist() == [0.25] * 3
    module(tw.full((1, 3), -2.0)).sum().backward()
    assert module.weight.grad.tolist() == [-2.0] * 3


def test_inplace_writes_to_the_input():
    x = tw.tensor([-1.0, 1.0])
    nn.ReLU(inplace=True)(x)
    assert x.tolist() == [0.0, 1.0]


def test_rrelu_draws_slopes_between_its_bounds():
    y = nn.RReLU(0.1, 0.3)(tw.full((1000,), -1.0))
    assert -0.3 <= y.min().item() < -0.28 and -0.12 < y.max().item() <= -0.1


@pytest.mark.parametrize(
    "make", [lambda: nn.Hardtanh(1, 1), lambda: nn.RReLU(0.5, 0.1), lambda: nn.Softmax2d()(tw.ones(2))]
)
def test_errors(make):
    with pytest.raises(ValueError):
        make()


def test_hardtanh_takes_the_older_names():
    assert nn.Hardtanh(min_value=-3.0, max_value=3.0).max_val == 3.0
