import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check, sample

SAMPLES = [sample((3, 4), dim=0), sample((3, 4), dim=-1), sample((2, 0), dim=1)]


def test_cumsum_cumprod():
    check(tw.cumsum, lambda x, dim: x.cumsum(dim), SAMPLES, inplace="cumsum_")
    check(tw.cumprod, lambda x, dim: x.cumprod(dim), SAMPLES, inplace="cumprod_")
    assert tw.tensor([True, True]).cumsum(0).tolist() == [1, 2]
    assert tw.cumsum(tw.tensor([200, 100], dtype=tw.uint8), 0).tolist() == [200, 300]


def test_long_chains_keep_their_digits():
    x = np.full(1 << 20, 0.1, np.float32)
    assert tw.tensor(x).cumsum(0)[-1].item() == pytest.approx(x.sum(dtype=np.float64), rel=1e-7)
    assert tw.tensor(x * (1 + 1j)).cumsum(0)[-1].item().imag == pytest.approx(x.sum(dtype=np.float64), rel=1e-7)
    growth = np.full(1 << 16, 1 + 1e-4, np.float32)
    assert tw.tensor(growth).cumprod(0)[-1].item() == pytest.approx(growth.prod(dtype=np.float64), rel=1e-7)


def test_products_with_zeros():
    x = array((3, 4))
    x[0, 1] = x[1, 1] = x[1, 2] = 0
    check(tw.cumprod, lambda x, dim: x.cumprod(dim), [Sample((x,), {"dim": 1})])
    check(tw.prod, lambda x, dim=None: x.prod(dim), [Sample((x,), {"dim": 1}), Sample((x,))])


def test_prod():
    samples = [sample((3, 4)), sample((3, 4), dim=1), sample((3, 4), dim=0, keepdim=True), sample((0, 2), dim=0)]
    check(tw.prod, lambda x, dim=None, keepdim=False: x.prod(dim, keepdims=keepdim), samples)
    assert tw.prod(tw.tensor([2, 3])).dtype == tw.int64


def test_cummax_cummin():
    for function, accumulate in ((tw.cummax, np.maximum), (tw.cummin, np.minimum)):
        check(
            lambda x, dim, f=function: f(x, dim).values, lambda x, dim, a=accumulate: a.accumulate(x, dim), SAMPLES[:2]
        )
        x = tw.tensor([1.0, 1.0, float("nan"), 3.0])
        values, indices = function(x, 0)
        assert indices.tolist() == [0, 1, 2, 2] and tw.isnan(values[3])


def test_logcumsumexp():
    check(tw.logcumsumexp, lambda x, dim: np.log(np.exp(x).cumsum(dim)), SAMPLES)
    large = sample((2, 3), dim=1, low=900, high=902)
    check(tw.logcumsumexp, lambda x, dim: 900 + np.log(np.exp(x - 900).cumsum(dim)), [large])
    x = tw.tensor([float("-inf"), 0.0, 800.0], requires_grad=True)
    y = tw.logcumsumexp(x, 0)
    y.sum().backward()
    np.testing.assert_allclose(y.detach().numpy(), [-np.inf, 0, 800])
    np.testing.assert_allclose(x.grad.numpy(), [0, 1, 1])


def test_out_of_range():
    with pytest.raises(IndexError):
        tw.cumsum(tw.ones(3), 1)


def test_logcumsumexp_of_complex_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5))
    np.testing.assert_allclose(np.exp(tw.logcumsumexp(tw.tensor(x), 1).numpy()), np.exp(x).cumsum(1), rtol=1e-12)
    assert tw.autograd.gradcheck(lambda x: tw.logcumsumexp(x, 0).abs(), [tw.tensor(x, requires_grad=True)])
