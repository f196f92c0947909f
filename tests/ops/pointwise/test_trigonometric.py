import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check, sample

ANY = ["sin", "cos", "sinh", "cosh", "tanh", "atan", "asinh", "sinc"]
NUMPY = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}


@pytest.mark.parametrize("name", ANY)
def test_of_any_number(name):
    reference = getattr(np, NUMPY.get(name, name))
    check(getattr(tw, name), reference, [sample((3, 4)), sample((0,))], inplace=name + "_")


@pytest.mark.parametrize("name", ["tan", "asin", "acos", "atanh"])
def test_within_one(name):
    reference = getattr(np, NUMPY.get(name, name))
    check(getattr(tw, name), reference, [sample((3, 4), low=-0.9, high=0.9)], inplace=name + "_")


def test_acosh():
    check(tw.acosh, np.arccosh, [sample((3, 4), low=1.2, high=4)], inplace="acosh_")


def test_atan2():
    check(tw.atan2, np.arctan2, [Sample((array((3, 4)), array((4,), seed=1)))], inplace="atan2_")
    assert tw.arctan2(tw.tensor([0.0]), tw.tensor([-1.0])).item() == pytest.approx(np.pi)


def test_large_arguments():
    x = np.array([1e8, -3e12, 12345.678])
    np.testing.assert_allclose(tw.sin(tw.tensor(x)).numpy(), np.sin(x), rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinc"]
)
def test_complex(name):
    z = np.array([0.3 + 0.4j, -0.2 + 0.7j])
    reference = getattr(np, NUMPY.get(name, name))
    np.testing.assert_allclose(getattr(tw, name)(tw.tensor(z)).numpy(), reference(z), rtol=1e-9)
    assert tw.autograd.gradcheck(getattr(tw, name), [tw.tensor(z, requires_grad=True)])


def test_sinc_at_zero():
    x = tw.zeros(1, dtype=tw.float64, requires_grad=True)
    y = tw.sinc(x)
    y.sum().backward()
    assert y.item() == 1
    assert x.grad.item() == 0


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_second_gradient_of_complex(name):
    z = tw.tensor(np.array([0.3 + 0.4j, -0.2 + 0.7j]), requires_grad=True)
    assert tw.autograd.gradgradcheck(getattr(tw, name), [z], atol=1e-4)
