import math

import numpy as np
import pytest
import thalweg as tw
from harness import check, sample

NAN = float("nan")


def dims(dim):
    return tuple(dim) if isinstance(dim, list) else dim


def test_amax_amin():
    samples = [sample((3, 4)), sample((4, 5), dim=1), sample((3, 4, 3), dim=[0, 2], keepdim=True)]
    check(tw.amax, lambda x, dim=None, keepdim=False: x.max(dims(dim), keepdims=keepdim), samples)
    check(tw.amin, lambda x, dim=None, keepdim=False: x.min(dims(dim), keepdims=keepdim), samples)
    x = tw.tensor([2.0, 1.0, 2.0], requires_grad=True)
    x.amax().backward()
    assert x.grad.tolist() == [0.5, 0, 0.5]
    low, high = tw.aminmax(tw.tensor([[1, 5], [0, 3]]), dim=0)
    assert low.tolist() == [0, 3] and high.tolist() == [1, 5]


def test_max_min_over_a_dim():
    samples = [sample((3, 4), dim=0), sample((3, 4), dim=-1, keepdim=True)]

    def reference(name):
        def run(x, dim, keepdim=False):
            at = getattr(np, "arg" + name)(x, dim, keepdims=True)
            values = np.take_along_axis(x, at, dim)
            return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))

        return run

    check(tw.max, reference("max"), samples)
    check(tw.min, reference("min"), samples)
    a, b = tw.tensor([1, 5]), tw.tensor([3, 2])
    assert tw.max(a, b).tolist() == [3, 5] and tw.min(a, b).tolist() == [1, 2]
    assert tw.max(a) == 5 and tw.min(a) == 1


def test_argmax_argmin():
    samples = [sample((3, 4)), sample((3, 4), dim=1), sample((3, 4), dim=0, keepdim=True)]
    check(tw.argmax, lambda x, dim=None, keepdim=False: np.argmax(x, dim, keepdims=keepdim), samples, grad=False)
    check(tw.argmin, lambda x, dim=None, keepdim=False: np.argmin(x, dim, keepdims=keepdim), samples, grad=False)


def test_empty_dims():
    values, indices = tw.max(tw.zeros(0, 4), 1)
    assert values.shape == (0,) and indices.dtype == tw.int64
    assert tw.max(tw.zeros(2, 0), 0).values.shape == (0,)
    with pytest.raises(IndexError, match="empty"):
        tw.max(tw.zeros(2, 0), 1)
    with pytest.raises(IndexError, match="empty"):
        tw.amax(tw.zeros(0, 3))


@pytest.mark.parametrize("threads", [1, 2])
def test_nan_order(threads):
    before = tw.get_num_threads()
    tw.set_num_threads(threads)
    x = tw.tensor([-1, NAN, 2, 1])
    top = x.topk(1)
    assert math.isnan(top.values[0]) and top.indices[0] == 1
    assert math.isnan(x.max()) and math.isnan(x.min()) and math.isnan(x.median())
    assert x.argmax() == 1
    assert x.sort().indices.tolist() == [0, 3, 2, 1]
    assert x.nanmedian() == 1
    for nan in (NAN, -NAN):
        y = tw.tensor([1, 2, nan])
        assert y.sort().indices.tolist() == [0, 1, 2] and math.isnan(y.max())
    tw.set_num_threads(before)


def test_the_limit_on_dims():
    x = tw.full([1] * 64, 3.0)
    assert tw.amax(x).item() == 3 and tw.amax(x, 63).shape == (1,) * 63
    for call in (lambda: tw.amax(x.unsqueeze(0), -1), lambda: tw.sum(x.unsqueeze(0))):
        with pytest.raises(RuntimeError, match="at most 64 dims"):
            call()
