import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check, sample

PAIRS = [
    sample((3, 4), (3, 4)),
    sample((3, 4), (4,)),
    sample((2, 1, 4), (3, 1)),
    sample((0, 2), (2,)),
    sample((), (3,)),
]


def test_add():
    check(tw.add, lambda a, b, alpha=1: a + alpha * b, [*PAIRS, sample((3,), (3,), alpha=2.5)])
    check(tw.add, np.add, PAIRS[:2], inplace="add_", dtypes=("float32", "bfloat16", "float16"))


def test_sub():
    check(tw.sub, lambda a, b, alpha=1: a - alpha * b, [*PAIRS, sample((3,), (3,), alpha=-2)])
    check(tw.sub, np.subtract, PAIRS[:2], inplace="sub_")


def test_rsub():
    check(tw.rsub, lambda a, b, alpha=1: b - alpha * a, [*PAIRS, sample((3,), (3,), alpha=3)])


def test_mul():
    check(tw.mul, np.multiply, PAIRS)
    check(tw.mul, np.multiply, PAIRS[:2], inplace="mul_")


def test_neg():
    check(tw.neg, np.negative, [sample((3, 4)), sample(())], inplace="neg_")


def test_complex_gradients_use_the_conjugate():
    x = Sample((array((3,)) + 1j * array((3,), seed=1), array((3,)) - 0.5j))
    check(tw.mul, np.multiply, [x], dtypes=("complex64", "complex128"), grad=False, sbp=False)
    z = tw.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = tw.tensor([2 - 1j, 1j])
    (z * w).abs().sum().backward()
    product = np.array([1 + 2j, 3 - 1j]) * np.array([2 - 1j, 1j])
    np.testing.assert_allclose(z.grad.numpy(), product / abs(product) * np.conj([2 - 1j, 1j]), rtol=1e-6)


def test_integers_wrap_and_bools_are_logic():
    assert (tw.tensor([250], dtype=tw.uint8) + 10).tolist() == [4]
    assert (tw.tensor([True, False]) + tw.tensor([True, False])).tolist() == [True, False]
    assert (tw.tensor([True, True]) * tw.tensor([True, False])).tolist() == [True, False]
    with pytest.raises(TypeError, match="logical_xor"):
        tw.tensor([True]) - tw.tensor([True])
    with pytest.raises(TypeError, match="alpha"):
        tw.add(tw.tensor([1]), tw.tensor([1]), alpha=0.5)
    with pytest.raises(ValueError, match=r"add: the shapes \[2\] and \[3\] do not broadcast"):
        tw.ones(2) + tw.ones(3)


@pytest.mark.parametrize("name", ["square", "angle", "logical_not", "neg", "add"])
def test_out_of_a_wider_dtype(name):
    x = tw.tensor([2.0, -3.0])
    arguments = (x, x) if name == "add" else (x,)
    out = tw.zeros(2, dtype=tw.float64 if name != "neg" else tw.float32)
    result = getattr(tw, name)(*arguments, out=out)
    assert result is out and out.tolist() == getattr(tw, name)(*arguments).double().tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_wrap_around(dtype):
    limits = np.iinfo(dtype)
    a = np.array([limits.max, limits.min, 3], dtype)
    x = tw.from_numpy(a)
    for result, expected in [(x + x, a + a), (x - 3, a - a[2]), (x * x, a * a), (-x, a[2] - a[2] - a)]:
        np.testing.assert_array_equal(result.numpy(), expected)
    np.testing.assert_array_equal(tw.sub(x, x, alpha=3).numpy(), a - a * a[2])
