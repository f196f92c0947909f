"""index, index_put and nonzero against NumPy."""

import numpy as np
import pytest
import thalweg as tw
from thalweg._registry import ops

X = np.arange(60.0).reshape(3, 4, 5)
INDICES = [
    ([0, 2, -1],),
    ([[0, 1], [2, 0]], [[1], [-4]]),
    (slice(None), [1, 3]),
    (slice(None), slice(None), [0, 4, 4]),
    ([0, 1], slice(None), [2, 3]),
    (slice(None), [2, 0], slice(1, 4)),
    (X > 20,),
    (X[:, :, 0] % 2 == 0,),
    (slice(None), np.array([True, False, True, False])),
    (None, [1], ..., [2]),
]


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_reads_and_writes_as_numpy(index):
    x = tw.tensor(X)
    np.testing.assert_array_equal(x[index].numpy(), X[index])
    expected = X.copy()
    expected[index] = -1
    x[index] = -1
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_gradient_goes_to_the_indexed_places(index):
    x = tw.tensor(X, requires_grad=True)
    weight = np.arange(1.0, X[index].size + 1).reshape(X[index].shape)
    (x[index] * tw.tensor(weight)).sum().backward()
    expected = np.zeros_like(X)
    np.add.at(expected, index, weight)
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_repeated_indices_all_get_their_gradient():
    y = tw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (y[[0, 0, 2]] * tw.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert y.grad.tolist() == [11, 0, 100]


def test_index_put_accumulates_and_carries_gradients():
    x = tw.zeros(3, requires_grad=True)
    values = tw.tensor([1.0, 2.0, 4.0], requires_grad=True)
    index = [tw.tensor([0, 0, -1])]
    result = x.index_put(index, values, accumulate=True)
    assert result.tolist() == [3, 0, 4]
    (result * tw.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    assert values.grad.tolist() == [1, 1, 3]


def test_index_put_overwrites_in_place():
    x = tw.zeros(2, 3)
    x.index_put_((tw.tensor([True, False]), tw.tensor([1])), tw.tensor(7.0))
    assert x.tolist() == [[0, 7, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "index, error",
    [
        (([0, 3],), IndexError),
        (([-4],), IndexError),
        (([0.5],), IndexError),
        ((np.ones((2, 4), bool),), IndexError),
        ((0, 0, 0, 0), IndexError),
        ((..., ...), IndexError),
        (([0, 1], [0, 1, 2]), ValueError),
    ],
)
def test_bad_indices_are_refused(index, error):
    x = tw.tensor(X)
    with pytest.raises(error):
        x[index]
    with pytest.raises(error):
        x[index] = 0
    np.testing.assert_array_equal(x.numpy(), X)


def test_values_must_fit():
    x = tw.tensor(X)
    with pytest.raises((ValueError, RuntimeError), match="index_put"):
        x.index_put([tw.tensor([0, 1])], tw.zeros(3, dtype=tw.float64))
    with pytest.raises((ValueError, RuntimeError), match="index_put"):
        x.index_put([tw.tensor(X > 55)], tw.zeros(3, dtype=tw.float64))
    with pytest.raises(RuntimeError, match="float32"):
        x.index_put([tw.tensor([0])], tw.zeros(4, 5))


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 3, 40)])
def test_nonzero_lists_positions(shape):
    x = np.random.default_rng(0).integers(0, 3, shape)
    expected = np.stack(np.nonzero(x), 1) if shape else np.zeros((int(x != 0), 0))
    np.testing.assert_array_equal(ops.nonzero(tw.tensor(x)).numpy(), expected)
