import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

F = tw.nn.functional
X = array((4, 5), -5, 5)


def hardsigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


CASES = {
    "relu": (lambda x: np.maximum(x, 0), ()),
    "relu6": (lambda x: np.clip(x, 0, 6), ()),
    "leaky_relu": (lambda x, s: np.where(x > 0, x, s * x), (0.2,)),
    "hardtanh": (np.clip, (-1.5, 2.0)),
    "threshold": (lambda x, t, v: np.where(x > t, x, v), (0.3, -2.0)),
    "hardsigmoid": (hardsigmoid, ()),
    "hardswish": (lambda x: x * hardsigmoid(x), ()),
    "hardshrink": (lambda x, lambd: np.where(abs(x) > lambd, x, 0), (0.7,)),
    "softshrink": (lambda x, lambd: np.sign(x) * np.maximum(abs(x) - lambd, 0), (0.7,)),
}


@pytest.mark.parametrize("name", CASES)
def test_forms(name):
    reference, numbers = CASES[name]
    check(getattr(F, name), reference, [Sample((X, *numbers))], dtypes=("float32", "float64", "bfloat16"), sbp=False)


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "hardtanh", "hardsigmoid", "hardswish"])
def test_in_place(name):
    x = tw.tensor(X)
    expected = getattr(F, name)(x)
    assert getattr(F, name)(x, inplace=True) is x
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_relu_of_integers_and_nan():
    assert tw.relu(tw.tensor([-2, 3])).tolist() == [0, 3]
    assert np.isnan(tw.relu(tw.tensor([float("nan")])).item())
    assert F.relu_(tw.tensor([-1.0])).item() == 0
    assert F.threshold_(tw.tensor([-1.0]), 0, 5).item() == 5


def test_prelu():
    weight = array((5,), 0.1, 0.5)
    check(F.prelu, lambda x, w: np.where(x > 0, x, w * x), [Sample((X, weight)), Sample((X, weight[:1]))], sbp=False)
    with pytest.raises(RuntimeError, match="weights"):
        F.prelu(tw.ones(2, 3), tw.ones(2))


def test_rrelu():
    x = tw.tensor(X)
    np.testing.assert_allclose(F.rrelu(x, 0.1, 0.3).numpy(), np.where(X > 0, X, 0.2 * X))
    slopes = (F.rrelu(x, 0.1, 0.3, training=True) / x).numpy()[X < 0]
    assert slopes.min() >= 0.1
    assert slopes.max() < 0.3


def test_negative_lambda():
    with pytest.raises(ValueError, match="lambd"):
        F.softshrink(tw.ones(2), -1.0)
