import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import NN_FUNCTIONS as F


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    reach = dilation * (kernel_size - 1) + 1
    rows, columns = ((n - reach) // stride + 1 for n in x.shape[2:])
    taps = [
        x[:, :, i * dilation :: stride, j * dilation :: stride][:, :, :rows, :columns]
        for i in range(kernel_size)
        for j in range(kernel_size)
    ]
    return np.stack(taps, 2).reshape(x.shape[0], -1, rows * columns)


def test_unfold():
    check(F["unfold"], unfold, [sample((2, 3, 5, 4), 2), sample((1, 2, 6, 6), 3, 2, 1, 2)])
    assert tuple(F["unfold"](tw.ones(3, 4, 4), 2).shape) == (12, 9)


def test_fold_is_the_transpose_of_unfold():
    x, columns = array((2, 3, 5, 6)), array((2, 12, 6))
    options = {"kernel_size": 2, "dilation": 1, "padding": 0, "stride": 2}
    left = (F["unfold"](tw.tensor(x), **options).numpy() * columns).sum()
    image = F["fold"](tw.tensor(columns), (5, 6), **options)
    np.testing.assert_allclose((image.numpy() * x).sum(), left)
    assert tuple(F["fold"](tw.tensor(columns[0]), (5, 6), **options).shape) == (3, 5, 6)


def test_messages():
    with pytest.raises(RuntimeError, match=r"columns of shape \[N, C · 4, 6\] are wanted, got \[1, 12, 5\]"):
        F["fold"](tw.ones(1, 12, 5), (5, 6), 2, stride=2)
    with pytest.raises(RuntimeError, match="the window does not fit"):
        F["unfold"](tw.ones(1, 1, 2, 2), 3)
