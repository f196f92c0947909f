import math

import numpy as np
import pytest
import thalweg as tw
from harness import check, sample

INSIDE = {"low": 0.1, "high": 0.9}


@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma"])
def test_of_the_c_library(name):
    reference = np.vectorize(getattr(math, name))
    check(getattr(tw, name), reference, [sample((3, 4), low=0.2, high=3)], inplace=name + "_")


def test_sigmoid_and_logit():
    check(tw.sigmoid, lambda x: 1 / (1 + np.exp(-x)), [sample((3, 4), low=-30, high=30)], inplace="sigmoid_")
    check(
        tw.logit,
        lambda p, eps=None: np.log(p / (1 - p)),
        [sample((3, 4), **INSIDE), sample((3,), eps=1e-3, **INSIDE)],
        inplace="logit_",
    )
    check(tw.special.expit, lambda x: 1 / (1 + np.exp(-x)), [sample((3,))], sbp=False)
    assert tw.logit(tw.tensor([2.0]), eps=0.25).item() == pytest.approx(math.log(3))


def test_erfinv():
    x = np.linspace(-0.99, 0.99, 9)
    np.testing.assert_allclose(np.vectorize(math.erf)(tw.erfinv(tw.tensor(x)).numpy()), x, rtol=1e-12)
    assert tw.autograd.gradcheck(tw.erfinv, [tw.tensor(x[2:7], requires_grad=True)])


def test_gamma_family():
    euler = 0.5772156649015329
    x = tw.tensor([1.0, 0.5], dtype=tw.float64)
    np.testing.assert_allclose(tw.digamma(x).numpy(), [-euler, -euler - 2 * math.log(2)], rtol=1e-12)
    np.testing.assert_allclose(tw.polygamma(1, x).numpy(), [math.pi**2 / 6, math.pi**2 / 2], rtol=1e-12)
    np.testing.assert_allclose(x.polygamma(2).numpy(), [-2 * 1.2020569031595942, -14 * 1.2020569031595942], rtol=1e-12)
    assert tw.special.zeta(tw.tensor([2.0], dtype=tw.float64), 1.0).item() == pytest.approx(math.pi**2 / 6, rel=1e-14)
    expected = math.lgamma(3) + math.lgamma(2.5) + 0.5 * math.log(math.pi)
    assert tw.mvlgamma(tw.tensor([3.0], dtype=tw.float64), 2).item() == pytest.approx(expected)
    leaf = tw.tensor([0.7, 2.3, -1.4], dtype=tw.float64, requires_grad=True)
    assert tw.autograd.gradcheck(tw.digamma, [leaf])
    assert tw.autograd.gradcheck(lambda t: tw.polygamma(1, t), [leaf])


def test_nan_to_num():
    x = tw.tensor([float("nan"), float("inf"), float("-inf"), 1.5])
    largest = np.finfo(np.float32).max
    assert tw.nan_to_num(x).tolist() == [0.0, largest, -largest, 1.5]
    assert x.nan_to_num_(2.0, 3.0, 4.0).tolist() == [2.0, 3.0, 4.0, 1.5]
    assert tw.nan_to_num(tw.tensor([1, 2])).tolist() == [1, 2]


def test_composites():
    x = np.array([-1.0, 0.0, 0.5])
    np.testing.assert_allclose(tw.special.entr(tw.tensor(x)).numpy(), [-np.inf, 0, -0.5 * np.log(0.5)])
    np.testing.assert_allclose(tw.special.ndtr(tw.tensor(x)).numpy(), [0.15865525393145707, 0.5, 0.6914624612740131])
    np.testing.assert_allclose(tw.special.ndtri(tw.special.ndtr(tw.tensor(x))).numpy(), x, atol=1e-12)
    assert tw.rad2deg(tw.deg2rad(tw.tensor([90.0]))).item() == pytest.approx(90)
    assert tw.float_power(tw.tensor([2]), 0.5).dtype == tw.float64
    assert tw.ldexp(tw.tensor([3.0]), tw.tensor([2])).item() == 12
    assert tw.positive(tw.tensor([-1])).item() == -1
    with pytest.raises(RuntimeError, match="complex"):
        tw.tensor([1j]).abs_()


def test_ldexp_keeps_the_dtype_of_its_input():
    x = tw.tensor(2.0, dtype=tw.float16)
    assert tw.ldexp(x, tw.tensor(3)).dtype == tw.float16 and tw.ldexp(x, tw.tensor(3.0).half()).item() == 16
    assert tw.ldexp(tw.tensor([2.0]).half(), tw.tensor([20])).item() == float("inf")
    assert tw.ldexp(tw.tensor([3]), tw.tensor([-1])).tolist() == [1.5]
    with pytest.raises(TypeError, match="ldexp: tensors are wanted"):
        tw.ldexp(2, tw.tensor([1]))


def test_mvlgamma_in_place():
    x = tw.tensor([3.0, 4.5])
    expected = tw.mvlgamma(x, 2).tolist()
    assert x.mvlgamma_(2) is x and x.tolist() == expected
    with pytest.raises(RuntimeError, match="mvlgamma_: the result has dtype thalweg.float32"):
        tw.tensor([3]).mvlgamma_(2)
