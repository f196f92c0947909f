import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check, sample

PAIRS = [Sample((array((3, 4)), array((3, 4), 0.5, 2.0))), Sample((array((3, 1)), array((4,), 0.5, 2.0)))]


def test_true_divide():
    check(tw.true_divide, np.true_divide, [*PAIRS, sample((0,), (0,)), sample((5,), 2.0)])
    check(tw.true_divide, np.true_divide, PAIRS[:1], inplace="true_divide_", grad=False)


def test_div_rounds():
    a, b = array((4, 5), -9, 9), array((4, 5), 0.5, 2.0)
    check(tw.div, lambda x, y, rounding_mode: np.trunc(x / y), [Sample((a, b), {"rounding_mode": "trunc"})], grad=False)
    check(
        tw.div,
        lambda x, y, rounding_mode: np.floor_divide(x, y),
        [Sample((a, -b), {"rounding_mode": "floor"})],
        inplace="div_",
        grad=False,
    )


def test_remainders():
    a, b = array((4, 5), -9, 9), array((4, 5), 0.5, 2.0) * np.where(array((4, 5), seed=3) < 0, -1, 1)
    check(tw.remainder, np.remainder, [Sample((a, b)), Sample((a, 1.5))], inplace="remainder_", second=False)
    check(tw.fmod, np.fmod, [Sample((a, b)), Sample((a, 1.5))], inplace="fmod_", second=False)
    check(tw.floor_divide, np.floor_divide, [Sample((a, b))], inplace="floor_divide_")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_integers_keep_numpys_results(dtype):
    a = np.array([7, -7, 7, -7, 0, 6], dtype="int64").astype(dtype)
    b = np.array([2, 2, -2, -2, 3, 3], dtype="int64").astype(dtype)
    x, y = tw.tensor(a), tw.tensor(b)
    np.testing.assert_array_equal((x // y).numpy(), a // b)
    np.testing.assert_array_equal((x % y).numpy(), a % b)
    np.testing.assert_array_equal(tw.fmod(x, y).numpy(), np.fmod(a, b))
    assert (x / y).dtype == tw.float32
    assert tw.div(x, y, rounding_mode="trunc").dtype == x.dtype


def test_division_by_zero_and_the_least_integer():
    least = tw.tensor([-(2**63), 5])
    for op in (tw.floor_divide, tw.remainder, tw.fmod):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            op(least, tw.tensor([0, 1]))
    assert (least // -1).tolist() == [-(2**63), -5]
    assert (least % -1).tolist() == [0, 0]


def test_special_floats():
    x = tw.tensor([1.0, -1.0, 0.0])
    assert (x // 0.0).tolist()[:2] == [float("inf"), float("-inf")]
    assert (tw.tensor([5.0]) % float("inf")).item() == 5.0
    assert (tw.tensor([-5.0]) % 3).item() == 1.0


def test_in_place_division_keeps_what_backward_needs():
    y = tw.tensor([2.0, 4.0], requires_grad=True)
    x = tw.tensor([1.0, 3.0], requires_grad=True)
    z = x.clone()
    z.div_(y)
    z.sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]
    assert y.grad.tolist() == [-0.25, -0.1875]


def test_unknown_rounding_mode():
    with pytest.raises(ValueError, match="rounding_mode"):
        tw.div(tw.ones(2), 2, rounding_mode="up")
