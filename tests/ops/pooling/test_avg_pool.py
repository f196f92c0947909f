import numpy as np
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import NN_FUNCTIONS as F


def avg_pool(x, kernel_size, stride=None, padding=0):
    """Means one dim after the other; the padding counts."""
    stride = stride or kernel_size
    for dim in range(2, x.ndim):
        moved = np.moveaxis(x, dim, -1)
        moved = np.pad(moved, [*[(0, 0)] * (x.ndim - 1), (padding, padding)])
        out = (moved.shape[-1] - kernel_size) // stride + 1
        means = [moved[..., o * stride : o * stride + kernel_size].mean(-1) for o in range(out)]
        x = np.moveaxis(np.stack(means, -1), -1, dim)
    return x


def adaptive(x, output_size):
    for dim in range(2, x.ndim):
        moved = np.moveaxis(x, dim, -1)
        n = moved.shape[-1]
        means = [moved[..., o * n // output_size : -(-(o + 1) * n // output_size)].mean(-1) for o in range(output_size)]
        x = np.moveaxis(np.stack(means, -1), -1, dim)
    return x


def test_avg_pool():
    check(F["avg_pool1d"], avg_pool, [sample((2, 3, 9), 2), sample((1, 2, 9), 3, 1, 1)])
    check(F["avg_pool2d"], avg_pool, [sample((2, 2, 6, 5), 2), sample((1, 2, 6, 6), 3, 2, 1)])
    check(F["avg_pool3d"], avg_pool, [sample((1, 2, 4, 4, 4), 2)])


def test_what_the_mean_divides_by():
    x = tw.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    assert F["avg_pool2d"](x, 2, 2, 1).tolist() == [[[0.25, 0.5], [0.75, 1.0]]]
    assert F["avg_pool2d"](x, 2, 2, 1, count_include_pad=False).tolist() == [[[1.0, 2.0], [3.0, 4.0]]]
    assert F["avg_pool2d"](x, 2, divisor_override=5).tolist() == [[[2.0]]]
    # The last window of ceil_mode counts the padding that is there, not what lies beyond.
    assert F["avg_pool1d"](tw.tensor([[1.0, 2.0, 3.0]]), 2, ceil_mode=True).tolist() == [[1.5, 3.0]]


def test_gradients_of_adaptive_pools_of_empty_batches_and_of_whole_planes():
    for shape, size in (((0, 2, 7), 5), ((0, 2, 7), 1), ((3, 2, 7), 1)):
        x = tw.ones(*shape, requires_grad=True)
        (grad,) = tw.autograd.grad(F["adaptive_avg_pool1d"](x, size).sum(), x)
        assert grad.shape == x.shape
        np.testing.assert_allclose(grad.sum().item(), size * shape[0] * shape[1], rtol=1e-6)


def test_adaptive_avg_pool():
    check(F["adaptive_avg_pool1d"], adaptive, [sample((2, 3, 7), 3), sample((1, 2, 3), 5)])
    check(F["adaptive_avg_pool2d"], adaptive, [sample((2, 2, 5, 6), 4)])
    check(F["adaptive_avg_pool3d"], adaptive, [sample((1, 1, 3, 4, 5), 2)])


def test_lp_pool():
    x = np.abs(array((1, 2, 6)))
    got = F["lp_pool1d"](tw.tensor(x), 2, 3).numpy()
    np.testing.assert_allclose(got, np.sqrt((x.reshape(1, 2, 2, 3) ** 2).sum(-1)))
    assert tuple(F["lp_pool2d"](tw.ones(1, 1, 4, 4), 2, 2).shape) == (1, 1, 2, 2)
    assert tuple(F["lp_pool3d"](tw.ones(1, 1, 4, 4, 4), 2, 2).shape) == (1, 1, 2, 2, 2)
