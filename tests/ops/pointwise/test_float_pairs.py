import math

import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

PAIR = Sample((array((3, 4)), array((4,), seed=1)))


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2", "hypot", "copysign"])
def test_of_numpy(name):
    check(getattr(tw, name), getattr(np, name), [PAIR])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hypot_over_the_whole_range(dtype):
    info = np.finfo(dtype)
    odd = np.array([0, info.smallest_subnormal, info.tiny, 1, 3e10, info.max / 2, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(over="ignore"):
        expected = np.hypot(odd[:, None], odd)
    got = tw.hypot(tw.tensor(odd)[:, None], tw.tensor(odd)).numpy()
    np.testing.assert_allclose(got, expected, rtol=2 * info.eps, atol=0)


def test_equal_infinities():
    inf = tw.tensor([float("inf"), float("-inf")])
    assert tw.logaddexp(inf, inf).tolist() == inf.tolist()
    assert tw.logaddexp2(inf, inf).tolist() == inf.tolist()


def test_xlogy():
    positive = Sample((array((3, 4)), array((4,), 0.5, 2.0)))
    check(tw.xlogy, lambda a, b: a * np.log(b), [positive], inplace="xlogy_")
    check(tw.special.xlog1py, lambda a, b: a * np.log1p(b), [positive], sbp=False)
    assert tw.xlogy(tw.tensor([0.0, 0.0]), tw.tensor([0.0, -1.0])).tolist() == [0.0, 0.0]
    assert np.isnan(tw.xlogy(tw.tensor([0.0]), tw.tensor([float("nan")])).item())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter(dtype):
    a = np.array([0.0, 1.0, -1.0, 1.0], dtype=dtype)
    b = np.array([1.0, np.inf, 5.0, 1.0], dtype=dtype)
    np.testing.assert_array_equal(tw.nextafter(tw.tensor(a), tw.tensor(b)).numpy(), np.nextafter(a, b))


def test_nextafter_of_half_types():
    one = tw.ones(1, dtype=tw.bfloat16)
    assert tw.nextafter(one, one * 2).item() == 1 + 2**-7
    assert tw.nextafter(one * 0, -one).item() < 0


def test_heaviside():
    x = tw.tensor([-1.0, 0.0, 2.0])
    assert tw.heaviside(x, tw.tensor([0.5])).tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(RuntimeError, match="dtypes"):
        tw.heaviside(x, tw.tensor([1]))


def test_logaddexp_of_complex_numbers():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)) for _ in range(2))
    got = tw.logaddexp(tw.tensor(a), tw.tensor(b))
    np.testing.assert_allclose(got.numpy(), np.log(np.exp(a) + np.exp(b)), rtol=1e-12)
    inputs = [tw.tensor(x, requires_grad=True) for x in (a, b)]
    assert tw.autograd.gradcheck(lambda x, y: tw.logaddexp(x, y).abs(), inputs)
    large = tw.tensor([1000 + 1j, -math.inf + 1j])
    assert tw.logaddexp(large, tw.tensor([1 + 1j, -math.inf + 1j])).tolist() == large.tolist()


def test_gradient_of_nextafter():
    x, y = (tw.tensor(v, requires_grad=True) for v in ([1.0, 2.0, 3.0], [2.0, 2.0, 1.0]))
    grads = tw.autograd.grad(tw.nextafter(x, y), [x, y], tw.tensor([1.0, 2.0, 3.0]))
    assert [g.tolist() for g in grads] == [[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
