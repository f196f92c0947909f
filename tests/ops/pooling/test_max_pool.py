import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import NN_FUNCTIONS as F
from thalweg._registry import ops


def windows(x, kernel, stride, padding=0, dilation=1):
    """The windows of the last dim, padded with -inf: [..., out, kernel]."""
    x = np.pad(x, [*[(0, 0)] * (x.ndim - 1), (padding, padding)], constant_values=-np.inf)
    out = (x.shape[-1] - dilation * (kernel - 1) - 1) // stride + 1
    return np.stack([x[..., o * stride : o * stride + dilation * (kernel - 1) + 1 : dilation] for o in range(out)], -2)


def max_pool(x, kernel_size, stride=None, padding=0, dilation=1):
    dims = x.ndim - 2
    for dim in range(2, 2 + dims):
        moved = np.moveaxis(x, dim, -1)
        x = np.moveaxis(windows(moved, kernel_size, stride or kernel_size, padding, dilation).max(-1), -1, dim)
    return x


def test_max_pool():
    check(F["max_pool1d"], max_pool, [sample((2, 3, 9), 2), sample((1, 2, 9), 3, 1, 1), sample((1, 1, 9), 2, 2, 0, 3)])
    check(F["max_pool2d"], max_pool, [sample((2, 2, 6, 5), 2), sample((1, 2, 6, 6), 3, 2, 1)])
    check(F["max_pool3d"], max_pool, [sample((1, 2, 4, 4, 4), 2)])


def test_indices_are_flat_positions_and_lead_back():
    x = tw.tensor(array((2, 3, 6, 4)))
    values, indices = F["max_pool2d"](x, 2, return_indices=True)
    flat = x.numpy().reshape(2, 3, 24)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, indices.numpy().reshape(2, 3, 6), 2), values.numpy().reshape(2, 3, 6)
    )
    back = F["max_unpool2d"](values, indices, 2)
    assert tuple(back.shape) == (2, 3, 6, 4)
    np.testing.assert_array_equal(ops.plane_gather(back, indices).numpy(), values.numpy())
    with pytest.raises(IndexError, match="plane_scatter: indices from 0 to 23"):
        F["max_unpool2d"](values, indices + 24, 2)


def test_nan_is_the_largest_and_ties_go_to_the_first():
    values, indices = F["max_pool1d"](tw.tensor([[1.0, float("nan"), 2.0, 2.0]]), 2, return_indices=True)
    assert np.isnan(values.numpy()[0, 0]) and values.numpy()[0, 1] == 2.0
    assert indices.tolist() == [[1, 2]]


def test_ceil_mode_adds_a_last_window():
    assert F["max_pool1d"](tw.tensor([[1.0, 3.0, 2.0]]), 2, ceil_mode=True).tolist() == [[3.0, 2.0]]
    assert F["max_pool1d"](tw.tensor([[1.0, 3.0, 2.0]]), 2).tolist() == [[3.0]]


def test_adaptive_max_pool():
    x = array((1, 1, 7))
    values, indices = F["adaptive_max_pool1d"](tw.tensor(x), 3, return_indices=True)
    expected = [x[0, 0, 0:3].max(), x[0, 0, 2:5].max(), x[0, 0, 4:7].max()]
    assert values.tolist() == [[expected]]
    assert [x[0, 0, i] for i in indices.tolist()[0][0]] == expected
    assert tuple(F["adaptive_max_pool2d"](tw.ones(2, 6, 7), (None, 3)).shape) == (2, 6, 3)
    assert tuple(F["adaptive_max_pool3d"](tw.ones(1, 2, 4, 4, 4), 2).shape) == (1, 2, 2, 2, 2)


def test_messages():
    with pytest.raises(RuntimeError, match="padding from 0 to half of the window"):
        F["max_pool2d"](tw.ones(1, 1, 4, 4), 2, padding=2)
    with pytest.raises(RuntimeError, match="the window does not fit"):
        F["max_pool1d"](tw.ones(1, 1, 2), 3)
