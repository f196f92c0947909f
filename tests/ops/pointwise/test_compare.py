import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check

A = np.array([[1.0, 2.0, np.nan], [np.inf, -0.0, 3.0]])
B = np.array([2.0, 2.0, 0.0])
NAMES = ["eq", "ne", "lt", "le", "gt", "ge"]
NUMPY = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]


@pytest.mark.parametrize(("name", "reference"), list(zip(NAMES, NUMPY, strict=True)))
def test_comparisons(name, reference):
    check(getattr(tw, name), reference, [Sample((A, B)), Sample((A, 2.0))], grad=False, sbp=False)
    ints = np.array([-1, 0, 3])
    assert getattr(tw, name)(tw.tensor(ints), 0).tolist() == reference(ints, 0).tolist()


def test_long_names():
    x, y = tw.tensor([1, 2]), tw.tensor([2, 2])
    assert tw.not_equal(x, y).tolist() == [True, False]
    assert tw.less(x, y).tolist() == [True, False]
    assert tw.less_equal(x, y).tolist() == [True, True]
    assert tw.greater(x, y).tolist() == [False, False]
    assert tw.greater_equal(x, y).tolist() == [False, True]
    assert x.subtract(y).tolist() == [-1, 0]
    assert tw.multiply(x, y).tolist() == [2, 4]


def test_complex_numbers_have_no_order():
    z = tw.tensor([1 + 1j])
    assert (z == z).tolist() == [True]
    with pytest.raises((RuntimeError, NotImplementedError)):
        z < z  # noqa: B015


def test_integer_against_float_number():
    assert (tw.tensor([0, 1]) < 0.5).tolist() == [True, False]


def test_closeness():
    a, b = tw.tensor([1.0, float("inf"), float("nan")]), tw.tensor([1.0 + 1e-7, float("inf"), float("nan")])
    assert tw.isclose(a, b).tolist() == [True, True, False]
    assert tw.isclose(a, b, equal_nan=True).tolist() == [True, True, True]
    assert tw.allclose(a[:2], b[:2])
    assert not tw.allclose(a, b)
    assert tw.equal(a[:2], a[:2])
    assert not tw.equal(a[:2], a[:1])
    with pytest.raises(RuntimeError, match="dtypes"):
        tw.isclose(a, a.double())
