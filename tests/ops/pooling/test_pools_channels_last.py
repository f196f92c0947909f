"""Pools of channels_last tensors: the numbers of the row-major path, bit for bit, in the input's order."""

import numpy as np
import pytest
import thalweg as tw
from memory_order import channels_last
from thalweg.nn import functional as F

FORMATS = {4: tw.channels_last, 5: tw.channels_last_3d}

POOLS = [
    (lambda x: F.max_pool2d(x, 3, 2, 1), 4),
    (lambda x: F.max_pool2d(x, (2, 3), ceil_mode=True), 4),
    (lambda x: F.max_pool2d(x, 2, dilation=2), 4),
    (lambda x: F.avg_pool2d(x, 3, 2, 1), 4),
    (lambda x: F.avg_pool2d(x, (2, 3), 1, (1, 1), ceil_mode=True, count_include_pad=False), 4),
    (lambda x: F.avg_pool2d(x, 2, divisor_override=3), 4),
    (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), 4),
    (lambda x: F.adaptive_avg_pool2d(x, 1), 4),
    (lambda x: F.adaptive_max_pool2d(x, (3, 2)), 4),
    (lambda x: F.max_pool3d(x, 2), 5),
    (lambda x: F.avg_pool3d(x, 2), 5),
    (lambda x: F.adaptive_avg_pool3d(x, 2), 5),
]


def numbers(rank, channels=7, seed=0, dtype="float32"):
    size = (3, channels, 9, 8) if rank == 4 else (2, channels, 4, 5, 6)
    return tw.tensor(np.random.default_rng(seed).standard_normal(size)).to(getattr(tw, dtype))


def last(tensor):
    return tensor.to(memory_format=FORMATS[tensor.ndim])


def derivatives(pool, x, seed, turn):
    x = x.detach().requires_grad_()
    y = pool(x)
    upstream = turn(tw.tensor(np.random.default_rng(seed).standard_normal(y.shape)).to(y.dtype)).requires_grad_()
    (first,) = tw.autograd.grad(y, [x], upstream, create_graph=True)
    (second,) = tw.autograd.grad((first * first).sum(), [upstream])
    return y, first, second


@pytest.mark.parametrize(("pool", "rank"), POOLS)
@pytest.mark.parametrize(("channels", "dtype"), [(7, "float32"), (150, "float64"), (5, "bfloat16")])
def test_values_gradients_and_strides(pool, rank, channels, dtype):
    x = numbers(rank, channels, dtype=dtype)
    wanted = derivatives(pool, x, 1, lambda g: g)
    got = derivatives(pool, last(x), 1, last)
    for a, b in zip(got, wanted, strict=True):
        assert (a == b).all()
        if a[0, 0].numel() > 1 and 0 not in a.stride():  # the gradient of a mean over all is a view
            assert a.stride() == channels_last(a.shape)
    cut = last(numbers(rank, channels + 3, dtype=dtype))[:, 1:-2]
    assert (pool(cut) == pool(cut.contiguous())).all()


def test_indices_and_unpooling():
    x = numbers(4)
    y, indices = F.max_pool2d(last(x), 2, return_indices=True)
    plain, places = F.max_pool2d(x, 2, return_indices=True)
    assert (indices == places).all() and indices.stride() == channels_last(indices.shape)
    for a, b in ((y, indices), (y, places), (plain, indices)):
        assert (
            F.max_unpool2d(a, b, 2, output_size=x.shape) == F.max_unpool2d(plain, places, 2, output_size=x.shape)
        ).all()
    with pytest.raises(IndexError, match="indices from 0 to"):
        F.max_unpool2d(y, indices + 1000, 2)


def test_nan_and_windows_of_padding():
    x = numbers(4)
    x[0, 0, 3, 3] = x[1, 2, 0, 0] = float("nan")
    for options in ({"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 2, "stride": 3, "ceil_mode": True}):
        a, b = F.max_pool2d(last(x), **options), F.max_pool2d(x, **options)
        assert np.array_equal(a.numpy(), b.numpy(), equal_nan=True) and bool(tw.isnan(a).any())
    whole = (numbers(4) * 100).to(tw.int32)
    assert (F.max_pool2d(last(whole), 3, 2, 1) == F.max_pool2d(whole, 3, 2, 1)).all()


def test_threads_do_not_change_results():
    before = tw.get_num_threads()
    try:
        for pool, rank in POOLS[:4]:
            results = []
            for threads in (1, 3):
                tw.set_num_threads(threads)
                results.append([t.detach().numpy() for t in derivatives(pool, last(numbers(rank, 300)), 1, last)])
            assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
    finally:
        tw.set_num_threads(before)
