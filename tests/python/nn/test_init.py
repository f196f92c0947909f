"""First values: moments and bounds of the draws, exact values, errors."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import init

SHAPE = (40, 30, 3, 3)
FAN_IN, FAN_OUT = 30 * 9, 40 * 9


@pytest.mark.parametrize(
    ("fill", "bound"),
    [
        (lambda t: init.uniform_(t, -2.0, 2.0), 2.0),
        (lambda t: init.xavier_uniform_(t, gain=2.0), 2 * math.sqrt(6 / (FAN_IN + FAN_OUT))),
        (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), math.sqrt(6 / FAN_IN)),
        (lambda t: init.kaiming_uniform_(t, a=math.sqrt(5), mode="fan_out"), math.sqrt(1 / FAN_OUT)),
    ],
)
def test_uniform_draws_fill_their_interval(fill, bound):
    tw.manual_seed(0)
    values = fill(tw.empty(SHAPE)).numpy()
    assert np.abs(values).max() <= bound * (1 + 1e-6) and np.abs(values).max() > 0.99 * bound
    assert abs(values.mean()) < 0.03 * bound
    assert abs(values.std() - bound / math.sqrt(3)) < 0.02 * bound


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda t: init.normal_(t, 0.0, 3.0), 3.0),
        (lambda t: init.xavier_normal_(t), math.sqrt(2 / (FAN_IN + FAN_OUT))),
        (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="tanh"), 5 / 3 / math.sqrt(FAN_OUT)),
    ],
)
def test_normal_draws_have_their_deviation(fill, std):
    tw.manual_seed(0)
    values = fill(tw.empty(SHAPE)).numpy()
    assert abs(values.mean()) < 0.05 * std and abs(values.std() / std - 1) < 0.03


def test_trunc_normal():
    tw.manual_seed(0)
    values = init.trunc_normal_(tw.empty(20000), mean=1.0, std=2.0, a=-1.0, b=3.0).numpy()
    assert values.min() >= -1 and values.max() <= 3
    # The normal distribution cut at one deviation on both sides has 0.5396 of its deviation.
    assert abs(values.mean() - 1) < 0.03 and abs(values.std() / (2 * 0.5396) - 1) < 0.03


def test_exact_values():
    assert init.constant_(tw.empty(2), 7).tolist() == [7.0, 7.0]
    assert init.ones_(tw.empty(2)).tolist() == [1.0, 1.0]
    assert init.zeros_(tw.ones(2)).tolist() == [0.0, 0.0]
    assert init.eye_(tw.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_passes_the_input_through(groups):
    conv = nn.Conv1d(2 * groups, 2 * groups, 3, padding=1, bias=False, groups=groups)
    init.dirac_(conv.weight, groups)
    x = tw.randn(1, 2 * groups, 5)
    assert conv(x).tolist() == x.tolist()


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (3, 2, 2)])
def test_orthogonal(shape):
    w = init.orthogonal_(tw.empty(shape, dtype=tw.float64), gain=2.0).numpy().reshape(shape[0], -1)
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-12)


def test_sparse_zeroes_the_fraction_of_each_column():
    values = init.sparse_(tw.empty(10, 7), sparsity=0.25).numpy()
    assert ((values == 0).sum(axis=0) == 3).all()


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [("linear", None, 1), ("conv_transpose2d", None, 1), ("tanh", None, 5 / 3), ("relu", None, math.sqrt(2)),
     ("leaky_relu", 0.2, math.sqrt(2 / 1.04)), ("leaky_relu", None, math.sqrt(2 / 1.0001)), ("selu", None, 0.75)],
)  # fmt: skip
def test_gains(name, param, gain):
    assert init.calculate_gain(name, param) == pytest.approx(gain)


@pytest.mark.parametrize(
    "call",
    [
        lambda: init.calculate_gain("other"),
        lambda: init.calculate_gain("leaky_relu", "x"),
        lambda: init.xavier_uniform_(tw.empty(3)),
        lambda: init.kaiming_normal_(tw.empty(3, 3), mode="fan"),
        lambda: init.eye_(tw.empty(3)),
        lambda: init.dirac_(tw.empty(3, 3)),
        lambda: init.orthogonal_(tw.empty(3)),
        lambda: init.sparse_(tw.empty(3), 0.1),
    ],
)
def test_errors(call):
    with pytest.raises(ValueError):
        call()


def test_filling_stays_off_the_tape():
    weight = nn.Parameter(tw.empty(3, 3))
    assert init.orthogonal_(weight) is weight and weight.is_leaf and weight.grad_fn is None
