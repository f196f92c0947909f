import numpy as np
import pytest
import thalweg as tw
from harness import check, sample

POSITIVE = {"low": 0.2, "high": 4.0}


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "square"])
def test_of_any_number(name):
    check(getattr(tw, name), getattr(np, name), [sample((3, 4)), sample((0,))], inplace=name + "_")


@pytest.mark.parametrize("name", ["log", "log2", "log10", "log1p", "sqrt", "reciprocal"])
def test_of_positive_numbers(name):
    check(getattr(tw, name), getattr(np, name), [sample((3, 4), **POSITIVE)], inplace=name + "_")


def test_rsqrt():
    check(tw.rsqrt, lambda x: 1 / np.sqrt(x), [sample((3, 4), **POSITIVE)], inplace="rsqrt_")


def test_integers_become_floats():
    assert tw.exp(tw.tensor([0, 1])).dtype == tw.float32
    assert tw.square(tw.tensor([2, 3])).tolist() == [4, 9]
    with pytest.raises(RuntimeError):
        tw.tensor([1, 2]).exp_()


def test_edges():
    x = tw.tensor([0.0, -1.0, float("inf")])
    assert x.log().tolist()[0] == float("-inf")
    assert np.isnan(x.log().tolist()[1])
    assert x.exp().tolist()[2] == float("inf")


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "reciprocal", "square"])
def test_complex(name):
    z = np.array([0.3 + 0.4j, -1.2 + 0.1j, 1e-9 + 1e-9j])
    # NumPy's log1p is off by 1e-7 near 0
    np.testing.assert_allclose(getattr(tw, name)(tw.tensor(z)).numpy(), getattr(np, name)(z), rtol=2e-7)
    assert tw.autograd.gradcheck(getattr(tw, name), [tw.tensor(z[:2], requires_grad=True)])
