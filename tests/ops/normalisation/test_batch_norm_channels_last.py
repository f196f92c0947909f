"""batch_norm of channels_last tensors against the row-major path and NumPy."""

import numpy as np
import pytest
import thalweg as tw
from memory_order import channels_last
from thalweg.nn import functional as F

FORMATS = {4: tw.channels_last, 5: tw.channels_last_3d}


def numbers(shape, seed=0):
    return tw.tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def last(tensor):
    return tensor.to(memory_format=FORMATS[tensor.ndim])


def run(x, upstream, affine, training):
    channels = x.shape[1]
    weight, bias = (numbers((channels,), 5).requires_grad_(), numbers((channels,), 6).requires_grad_())
    weight, bias = (weight, bias) if affine else (None, None)
    mean, var = numbers((channels,), 7), numbers((channels,), 8).abs() + 0.5
    x, upstream = x.detach().requires_grad_(), upstream.detach().requires_grad_()
    y = F.batch_norm(x, mean, var, weight, bias, training)
    leaves = [x, weight, bias] if affine else [x]
    first = tw.autograd.grad(y, leaves, upstream, create_graph=True)
    second = tw.autograd.grad(sum((g * g).sum() for g in first), [upstream, x] if training else [upstream])
    return [y, *first, *second], (mean, var)


@pytest.mark.parametrize("size", [(4, 5, 7, 6), (3, 70, 9, 5), (2, 3, 1, 1), (2, 6, 3, 4, 5), (16, 40, 30, 9)])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_same_numbers_in_the_inputs_order(size, affine, training):
    x, upstream = numbers(size), numbers(size, 1)
    wanted, statistics = run(x, upstream, affine, training)
    got, moved = run(last(x), last(upstream), affine, training)
    for a, b in zip(got, wanted, strict=True):
        scale = max(1.0, float(b.detach().abs().max()))
        assert float((a - b).detach().abs().max()) < 3e-5 * scale
    for a, b in zip(moved, statistics, strict=True):
        assert tw.allclose(a, b, rtol=1e-5, atol=1e-6)
    assert got[0].stride() == channels_last(size)
    assert got[1].stride() == channels_last(size)


def test_mixed_orders_and_slices():
    x, upstream = numbers((4, 6, 5, 7)), numbers((4, 6, 5, 7), 1)
    wanted, _ = run(x, upstream, True, True)
    for a, b in ((last(x), upstream), (x, last(upstream))):
        got, _ = run(a, b, True, True)
        assert got[0].stride() == a.stride() and got[1].stride() == a.stride()
        assert all(tw.allclose(p, q, rtol=1e-4, atol=1e-4) for p, q in zip(got, wanted, strict=True))
    cut = last(numbers((4, 9, 5, 8)))[:, 2:8, :, :7]
    y = F.batch_norm(cut, None, None, training=True)
    assert tw.allclose(y, F.batch_norm(cut.contiguous(), None, None, training=True), atol=1e-5)
    assert y.stride() == channels_last(y.shape)


@pytest.mark.parametrize("dtype", [tw.float64, tw.bfloat16, tw.float16])
def test_other_dtypes(dtype):
    x = numbers((4, 6, 5, 7)).to(dtype)
    y = F.batch_norm(last(x), None, None, training=True)
    bound = 1e-12 if dtype == tw.float64 else 0.02
    assert y.dtype == dtype and y.stride() == channels_last(y.shape)
    assert float((y - F.batch_norm(x, None, None, training=True)).abs().max().double()) < bound


def test_a_mean_far_from_zero():
    """Deviations are taken from the mean of each block, also where the first rows tell nothing about the rest."""
    x = np.random.default_rng(0).standard_normal((8, 3, 40, 40)) * 0.01 + 100
    x[0] = 0
    x[:, 2] += 1000
    single = tw.tensor(x.astype("float32"))
    exact = np.asarray(single.numpy(), dtype=np.float64)
    mean, std = exact.mean((0, 2, 3), keepdims=True), exact.std((0, 2, 3), keepdims=True)
    y = F.batch_norm(last(single[1:]), None, None, training=True, eps=1e-12).numpy()
    part = exact[1:]
    wanted = (part - part.mean((0, 2, 3), keepdims=True)) / part.std((0, 2, 3), keepdims=True)
    assert np.abs(y - wanted)[:, :2].max() < 1e-2
    whole = F.batch_norm(last(single), None, None, training=True, eps=1e-12).numpy()
    assert np.abs(whole - (exact - mean) / std).max() < 1e-3


def test_threads_do_not_change_results():
    x, upstream = last(numbers((16, 70, 20, 11))), last(numbers((16, 70, 20, 11), 1))
    before, results = tw.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tw.set_num_threads(threads)
            results.append([t.detach().numpy() for t in run(x, upstream, True, True)[0]])
    finally:
        tw.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
