import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

F = tw.nn.functional
X = array((4, 5), -5, 5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x))


CASES = {
    "elu": (elu, (1.3,)),
    "celu": (lambda x, a: np.where(x > 0, x, a * np.expm1(x / a)), (0.7,)),
    "selu": (lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772), ()),
    "silu": (lambda x: x * sigmoid(x), ()),
    "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), ()),
    "softplus": (lambda x, beta, threshold: np.log1p(np.exp(beta * x)) / beta, (2.0, 30.0)),
    "logsigmoid": (lambda x: -np.log1p(np.exp(-x)), ()),
    "softsign": (lambda x: x / (1 + abs(x)), ()),
    "tanhshrink": (lambda x: x - np.tanh(x), ()),
    "sigmoid": (sigmoid, ()),
    "tanh": (np.tanh, ()),
}


@pytest.mark.parametrize("name", CASES)
def test_forms(name):
    reference, numbers = CASES[name]
    check(getattr(F, name), reference, [Sample((X, *numbers))], sbp=False)


@pytest.mark.parametrize("name", ["elu", "celu", "selu", "silu", "mish"])
def test_in_place(name):
    x = tw.tensor(X)
    expected = getattr(F, name)(x)
    assert getattr(F, name)(x, inplace=True) is x
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_extreme_arguments():
    x = tw.tensor([-1e4, 1e4], requires_grad=True)
    for name in ("silu", "mish", "softplus", "logsigmoid", "elu"):
        y = getattr(F, name)(x)
        y.sum().backward()
        assert np.isfinite(y.detach().numpy()).all()
        assert np.isfinite(x.grad.numpy()).all()


def test_glu():
    check(F.glu, lambda x, dim: np.split(x, 2, dim)[0] * sigmoid(np.split(x, 2, dim)[1]), [Sample((X, 0))], sbp=False)
    with pytest.raises(RuntimeError, match="even"):
        F.glu(tw.ones(3))
