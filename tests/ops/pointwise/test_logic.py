import numpy as np
import pytest
import thalweg as tw

A, B = np.array([0, 5, -7, 12]), np.array([3, 3, 2, -8])


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("bitwise_and", np.bitwise_and),
        ("bitwise_or", np.bitwise_or),
        ("bitwise_xor", np.bitwise_xor),
        ("gcd", np.gcd),
        ("lcm", np.lcm),
    ],
)
def test_two_integers(name, reference):
    for dtype in ("int64", "int32", "int8"):
        a, b = A.astype(dtype), B.astype(dtype)
        np.testing.assert_array_equal(getattr(tw, name)(tw.tensor(a), tw.tensor(b)).numpy(), reference(a, b))
    target = tw.tensor(A)
    getattr(target, name + "_")(tw.tensor(B))
    np.testing.assert_array_equal(target.numpy(), reference(A, B))


def test_bitwise_not():
    assert tw.bitwise_not(tw.tensor(A)).tolist() == (~A).tolist()
    assert (~tw.tensor([True, False])).tolist() == [False, True]


def test_shifts_beyond_the_width():
    x = tw.tensor([1, -1, -8], dtype=tw.int32)
    assert (x << tw.tensor([3, 40, 1], dtype=tw.int32)).tolist() == [8, 0, -16]
    assert tw.bitwise_left_shift(x, -1).tolist() == [0, 0, 0]
    assert tw.bitwise_right_shift(x, 40).tolist() == [0, -1, -1]
    assert (x >> 2).tolist() == [0, -1, -2]


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_truth_of_any_dtype(name):
    a, b = np.array([0.0, 1.5, np.nan, 0.0]), np.array([0, 0, 2, 3])
    expected = getattr(np, name)(a, b)
    np.testing.assert_array_equal(getattr(tw, name)(tw.tensor(a), tw.tensor(b)).numpy(), expected)
    target = tw.tensor(a)
    getattr(target, name + "_")(tw.tensor(b))
    np.testing.assert_array_equal(target.numpy(), expected.astype(float))


def test_logical_not():
    assert tw.logical_not(tw.tensor([0.0, 2.0, float("nan")])).tolist() == [True, False, False]


def test_floats_have_no_bits():
    with pytest.raises((RuntimeError, NotImplementedError)):
        tw.ones(2) & tw.ones(2)
