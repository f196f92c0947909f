"""convolution and its public forms against loops over taps in NumPy."""

import ctypes
import itertools
import threading

import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import NN_FUNCTIONS as F
from thalweg._registry import ops


def reference(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    dims = w.ndim - 2
    stride, padding, dilation = ([v] * dims if isinstance(v, int) else list(v) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation)]
    y = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    inner, outer = w.shape[1], w.shape[0] // groups
    for tap in itertools.product(*map(range, w.shape[2:])):
        window = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, out, stride))
        for g in range(groups):
            part = x[(slice(None), slice(g * inner, (g + 1) * inner), *window)]
            rows = slice(g * outer, (g + 1) * outer)
            y[:, rows] += np.moveaxis(np.tensordot(w[(rows, slice(None), *tap)], part, (1, 1)), 0, 1)
    return y if bias is None else y + bias.reshape(-1, *[1] * dims)


def transposed(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    dims = w.ndim - 2
    stride, padding, dilation, extra = (
        [v] * dims if isinstance(v, int) else list(v) for v in (stride, padding, dilation, output_padding)
    )
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, k, d in zip(x.shape[2:], stride, w.shape[2:], dilation)]
    y = np.zeros((x.shape[0], w.shape[1] * groups, *(f + e for f, e in zip(full, extra))), x.dtype)
    inner, outer = w.shape[0] // groups, w.shape[1]
    for tap in itertools.product(*map(range, w.shape[2:])):
        window = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, x.shape[2:], stride)
        )
        for g in range(groups):
            part = x[:, g * inner : (g + 1) * inner]
            weight = w[(slice(g * inner, (g + 1) * inner), slice(None), *tap)]
            rows = slice(g * outer, (g + 1) * outer)
            y[(slice(None), rows, *window)] += np.moveaxis(np.tensordot(weight, part, (0, 1)), 0, 1)
    y = y[(slice(None), slice(None), *(slice(p, n - p) for p, n in zip(padding, y.shape[2:])))]
    return y if bias is None else y + bias.reshape(-1, *[1] * dims)


def test_conv():
    check(F["conv1d"], reference, [sample((2, 3, 7), (4, 3, 3), (4,)), sample((1, 4, 9), (6, 2, 2), None, 2, 1, 2, 2)])
    check(F["conv2d"], reference, [sample((2, 3, 5, 6), (4, 3, 3, 2), (4,), stride=(2, 1), padding=1)])
    check(F["conv2d"], reference, [sample((1, 4, 5, 5), (4, 1, 3, 3), (4,), padding=2, dilation=2, groups=4)])
    check(F["conv3d"], reference, [sample((1, 2, 4, 3, 4), (2, 2, 2, 2, 2), (2,), padding=(1, 0, 1))])


def weight_gradient(grad, x, size, stride, padding, dilation, groups):
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    result, axes = np.zeros(size), [0, *range(2, x.ndim)]
    outer, inner = size[0] // groups, size[1]
    for tap in itertools.product(*map(range, size[2:])):
        window = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, grad.shape[2:], stride)
        )
        for g in range(groups):
            part = x[(slice(None), slice(g * inner, (g + 1) * inner), *window)]
            rows = slice(g * outer, (g + 1) * outer)
            result[(rows, slice(None), *tap)] = np.tensordot(grad[:, rows], part, (axes, axes))
    return result


def test_the_gradient_of_the_weight():
    samples = [
        sample((3, 5, 2, 3), (3, 3, 5, 5), [5, 3, 2, 3], [2, 1], [0, 0], [1, 1], 1),
        sample((2, 4, 5), (2, 6, 6), [4, 3, 4], [1], [1], [1], 2),
    ]
    check(ops.convolution_weight, weight_gradient, samples)
    grad, x = tw.zeros(3, 5, 2, 3), tw.zeros(3, 3, 5, 5)
    for size in ([4, 3, 2, 3], [5, 2, 2, 3], [5, 3, 5, 3], [5, 3, 2]):
        with pytest.raises(RuntimeError, match="convolution_weight"):
            ops.convolution_weight(grad, x, size, [2, 1], [0, 0], [1, 1], 1)


def test_conv_transpose():
    check(
        F["conv_transpose1d"], transposed, [sample((2, 3, 4), (3, 2, 3), (2,), stride=2, padding=1, output_padding=1)]
    )
    samples = [sample((1, 4, 3, 4), (4, 2, 2, 3), (4,), stride=(1, 2), groups=2)]
    # An output padding beyond the stride.
    samples += [sample((1, 2, 3, 3), (2, 2, 2, 2), output_padding=1, dilation=2)]
    check(F["conv_transpose2d"], transposed, samples)
    check(F["conv_transpose3d"], transposed, [sample((1, 2, 2, 2, 2), (2, 1, 2, 1, 2), (1,), stride=2)])


def test_convolution_takes_every_option_by_position():
    check(
        lambda x, w: tw.convolution(x, w, None, [1], [1], [1], False, [0], 1),
        lambda x, w: reference(x, w, padding=1),
        [sample((1, 2, 5), (3, 2, 3))],
    )


@pytest.mark.parametrize("kernel", [2, 3, 4])
def test_same_padding_keeps_the_size_with_more_on_the_right(kernel):
    x, w = array((1, 1, 8)), array((1, 1, kernel))
    y = F["conv1d"](tw.tensor(x), tw.tensor(w), padding="same").numpy()
    left = (kernel - 1) // 2
    padded = np.pad(x, [(0, 0), (0, 0), (left, kernel - 1 - left)])
    np.testing.assert_allclose(y, reference(padded, w), rtol=1e-12)


def test_unbatched_and_empty():
    w = tw.ones(2, 3, 2)
    assert tuple(F["conv1d"](tw.ones(3, 5), w).shape) == (2, 4)
    assert tuple(F["conv1d"](tw.ones(0, 3, 5), w).shape) == (0, 2, 4)


SHAPES = [
    ((9, 16, 14, 14), (24, 16, 3, 3), 1, 1, 1),
    ((1, 128, 9, 9), (160, 128, 3, 3), 1, 1, 1),
    ((5, 192, 6, 6), (200, 192, 3, 3), 2, 1, 1),
    ((6, 32, 10, 10), (32, 1, 3, 3), 1, 1, 32),
    ((3, 3, 33, 33), (20, 3, 7, 7), 2, 3, 1),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "stride", "padding", "groups"), SHAPES)
def test_float32_chunks_and_parts_agree_with_float64(x_shape, w_shape, stride, padding, groups):
    """oneDNN in chunks of images and parts of channels; one and two threads give the same bits."""
    results = {}
    threads = tw.get_num_threads()
    for dtype, count in ((tw.float64, 1), (tw.float32, 1), (tw.float32, 2)):
        tw.set_num_threads(count)
        x, w, b = (tw.tensor(array(s)).to(dtype).requires_grad_() for s in (x_shape, w_shape, w_shape[:1]))
        y = F["conv2d"](x, w, b, stride, padding, 1, groups)
        (y * y).sum().backward()
        results[dtype, count] = [t.detach().numpy() for t in (y, x.grad, w.grad, b.grad)]
    tw.set_num_threads(threads)
    for wide, one, two in zip(*results.values()):
        np.testing.assert_allclose(one, wide, rtol=1e-4, atol=1e-4 * np.abs(wide).max())
        assert (one == two).all()


def test_messages():
    with pytest.raises(RuntimeError, match=r"convolution: weight of shape \[4, 3, 2\] .* got shape \[1, 2, 5\]"):
        F["conv1d"](tw.ones(1, 2, 5), tw.ones(4, 3, 2))
    with pytest.raises(RuntimeError, match="the kernel reaches over 6 elements"):
        F["conv1d"](tw.ones(1, 1, 5), tw.ones(1, 1, 6))
    with pytest.raises(RuntimeError, match="conv2d: padding 'same' wants stride 1"):
        F["conv2d"](tw.ones(1, 1, 5, 5), tw.ones(1, 1, 3, 3), stride=2, padding="same")
    with pytest.raises(RuntimeError, match="output_padding smaller than stride or dilation"):
        F["conv_transpose1d"](tw.ones(1, 1, 5), tw.ones(1, 1, 2), output_padding=1)


def test_the_openmp_thread_count_of_the_caller_stays():
    openmp = ctypes.CDLL("libgomp.so.1")  # the one that oneDNN has loaded, and that other libraries share
    counts = []

    def convolve():  # in a thread of its own, whose count nobody has set yet
        openmp.omp_set_num_threads(3)
        x = tw.ones(2, 8, 16, 16, requires_grad=True)
        tw.nn.functional.conv2d(x, tw.ones(8, 8, 3, 3, requires_grad=True)).sum().backward()
        counts.append(openmp.omp_get_max_threads())

    thread = threading.Thread(target=convolve)
    thread.start()
    thread.join()
    assert counts == [3]


@pytest.mark.parametrize("channels", [1, 3, 5, 12, 20])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("order", ["row-major", "channels-last"])
def test_windows_of_one_position_that_lie_apart_write_nothing_beside_their_memory(channels, dims, order):
    last = {2: tw.channels_last, 3: tw.channels_last_3d}.get(dims, tw.contiguous_format)
    form = last if order == "channels-last" else tw.contiguous_format
    size = {1: 64, 2: 8, 3: 4}[dims]
    x = tw.randn(2, channels, *[size] * dims).to(memory_format=form).requires_grad_()
    w = tw.randn(4, channels, *[1] * dims, requires_grad=True)
    # Free memory with tensors on all sides, of each size that a buffer may have.
    beside = [tw.full((count,), 7.0) for count in range(16, 2049, 16) for _ in range(6)]
    del beside[1::2]
    for _ in range(3):
        getattr(tw.nn.functional, f"conv{dims}d")(x, w, stride=2).sum().backward()
    assert all((tensor == 7).all() for tensor in beside)
