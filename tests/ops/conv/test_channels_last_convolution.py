"""Convolutions of channels_last tensors: the same numbers as row-major ones, in PyTorch's strides."""

import itertools

import numpy as np
import pytest
import thalweg as tw
from memory_order import channels_last, row_major, suggests_channels_last
from thalweg.nn import functional as F

FORMATS = {4: tw.channels_last, 5: tw.channels_last_3d}

# function, input, weight, options
CASES = [
    (F.conv2d, (3, 5, 7, 6), (4, 5, 3, 3), {"padding": 1}),
    (F.conv2d, (2, 6, 9, 5), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
    (F.conv2d, (2, 4, 8, 7), (8, 1, 3, 3), {"padding": 2, "dilation": 2, "groups": 4}),
    (F.conv2d, (9, 16, 6, 5), (32, 16, 1, 1), {"stride": 2}),
    (F.conv2d, (2, 3, 4, 4), (5, 3, 4, 4), {}),
    (F.conv3d, (2, 3, 4, 5, 3), (4, 3, 2, 3, 2), {"padding": (1, 1, 0)}),
    (F.conv_transpose2d, (2, 4, 5, 6), (4, 3, 3, 2), {"stride": 2, "padding": 1, "output_padding": (1, 0)}),
    (F.conv_transpose2d, (2, 4, 5, 3), (4, 2, 3, 3), {"groups": 2, "dilation": 2}),
    (F.conv_transpose3d, (1, 2, 3, 2, 3), (2, 3, 2, 2, 2), {"stride": 2}),
]


def numbers(shape, seed, dtype="float32"):
    return tw.tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32")).to(getattr(tw, dtype))


def laid(tensor, last):
    return tensor.to(memory_format=FORMATS[tensor.ndim]) if last else tensor


def expected_strides(shape, *inputs):
    last = any(suggests_channels_last(t.shape, t.stride()) for t in inputs)
    return channels_last(shape) if last else row_major(shape)


def close(a, b, bound=2e-5):
    scale = max(float(b.detach().abs().max()), 1e-3)
    return float((a.detach() - b.detach()).abs().max()) <= bound * scale


def derivatives(function, x, w, bias, upstream, options, turn):
    """The result, its gradients, and the gradients of a function of these."""
    x, w, bias = (None if t is None else t.detach().requires_grad_() for t in (x, w, bias))
    y = function(x, w, bias, **options)
    first = tw.autograd.grad(y, [t for t in (x, w, bias) if t is not None], upstream, create_graph=True)
    second = tw.autograd.grad(sum((g * turn(g)).sum() for g in first[:2]), [x, w])
    return [y, *first, *second]


@pytest.mark.parametrize(("last_x", "last_w"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("function", "size", "weight", "options"), CASES)
def test_values_and_strides(function, size, weight, options, last_x, last_w):
    x, w = numbers(size, 0), numbers(weight, 1)
    transposed = "transpose" in function.__name__
    channels = weight[1] * options.get("groups", 1) if transposed else weight[0]
    bias = numbers((channels,), 2)
    plain = function(x, w, bias, **options)
    upstream = numbers(plain.shape, 3)
    wanted = derivatives(function, x, w, bias, upstream, options, tw.sin)
    xl, wl, ul = laid(x, last_x), laid(w, last_w), laid(upstream, True)
    got = derivatives(function, xl, wl, bias, ul, options, tw.sin)
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape and close(a, b)
    y, gx, gw = got[:3]
    assert y.stride() == expected_strides(y.shape, xl, wl)
    assert gx.stride() == expected_strides(gx.shape, ul, wl)
    assert gw.stride() == expected_strides(gw.shape, ul, xl)
    assert plain.is_contiguous() and all(t.is_contiguous() for t in wanted[1:3])


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16", "int64"])
def test_other_dtypes(dtype):
    x, w = (numbers(s, i) * 3 for i, s in enumerate([(2, 3, 5, 4), (6, 3, 3, 2)]))
    x, w = x.to(getattr(tw, dtype)), w.to(getattr(tw, dtype))
    y = F.conv2d(laid(x, True), w, padding=1)
    assert y.stride() == channels_last(y.shape)
    assert close(y.double(), F.conv2d(x, w, padding=1).double(), 1e-2 if "float16" in dtype else 1e-6)


def test_slices_and_expanded_inputs():
    x, w = laid(numbers((4, 8, 9, 10), 0), True), numbers((6, 4, 3, 3), 1)
    for view in (x[:, 2:6], x[1::2, ::2, 1:, ::3], x[:, :4].flip(3), x[:1, :4].expand(4, -1, -1, -1)):
        y = F.conv2d(view, w, padding=1)
        assert close(y, F.conv2d(view.contiguous(), w, padding=1))
        assert y.stride() == expected_strides(y.shape, view, w)
    sliced = laid(numbers((12, 8, 3, 3), 1), True)[::2, 2:6]
    assert close(F.conv2d(x[:, :4], sliced), F.conv2d(x[:, :4].contiguous(), sliced.contiguous()))


def test_one_channel_keeps_the_order_that_strides_tell():
    x, w = laid(numbers((2, 1, 5, 5), 0), True), numbers((4, 1, 3, 3), 1)
    assert x.stride() == (25, 1, 5, 1) and x.is_contiguous()
    assert F.conv2d(x, w).stride() == (36, 1, 12, 4)
    assert F.conv2d(x.contiguous().view(2, 1, 5, 5).clone(memory_format=tw.contiguous_format), w).is_contiguous()


def test_large_weights_go_by_parts():
    """More weights than pixels: channels are cut, and the parts are strided in channels_last memory."""
    x, w = numbers((4, 160, 3, 3), 0), numbers((272, 160, 3, 3), 1) / 40
    upstream = numbers((4, 272, 3, 3), 2)
    options = {"padding": 1}
    wanted = derivatives(F.conv2d, x, w, None, upstream, options, tw.sin)
    got = derivatives(F.conv2d, laid(x, True), laid(w, True), None, laid(upstream, True), options, tw.sin)
    assert all(close(a, b, 1e-4) for a, b in zip(got, wanted, strict=True))


def test_empty_batches():
    x, w = laid(tw.zeros(0, 3, 5, 5), True), laid(numbers((4, 3, 3, 3), 0), True).requires_grad_()
    y = F.conv2d(x, w)
    y.sum().backward()
    assert y.shape == (0, 4, 3, 3) and (w.grad == 0).all()


def test_threads_do_not_change_results():
    sizes = [((9, 24, 11, 10), (40, 24, 3, 3)), ((2, 160, 4, 4), (272, 160, 3, 3))]
    before = tw.get_num_threads()
    try:
        for size, weight in sizes:
            x, w = laid(numbers(size, 0), True), laid(numbers(weight, 1), True)
            results = []
            for threads in (1, 2, 3):
                tw.set_num_threads(threads)
                y = F.conv2d(x, w, padding=1)
                results.append(
                    [r.detach().numpy() for r in derivatives(F.conv2d, x, w, None, y, {"padding": 1}, tw.cos)]
                )
            for other in results[1:]:
                assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
    finally:
        tw.set_num_threads(before)


def test_gradients_lie_as_their_leaves_do():
    for last_x, last_w, last_g in itertools.product((False, True), repeat=3):
        x, w = laid(numbers((2, 3, 5, 4), 0), last_x), laid(numbers((4, 3, 3, 3), 1), last_w)
        x, w = x.requires_grad_(), w.requires_grad_()
        y = F.conv2d(x, w)
        y.backward(laid(numbers(y.shape, 2), last_g))
        assert x.grad.stride() == x.stride() and w.grad.stride() == w.stride()
