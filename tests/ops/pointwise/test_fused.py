import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

A, B, C = array((3, 4)), array((4,), seed=1), array((3, 1), 0.5, 2.0, seed=2)


def test_lerp():
    check(
        tw.lerp, lambda a, b, w: a + w * (b - a), [Sample((A, A[::-1].copy(), C)), Sample((A, B, 0.3))], inplace="lerp_"
    )
    assert tw.lerp(tw.tensor([1e8]), tw.tensor([1.0]), 1.0).item() == 1.0


def test_addcmul():
    check(
        tw.addcmul,
        lambda a, b, c, value=1: a + value * b * c,
        [Sample((A, B, C)), Sample((A, B, C), {"value": -2.5})],
        inplace="addcmul_",
    )
    assert tw.addcmul(tw.tensor([1]), tw.tensor([2]), tw.tensor([3]), value=2).item() == 13
    with pytest.raises(TypeError, match="value"):
        tw.addcmul(tw.tensor([1]), tw.tensor([2]), tw.tensor([3]), value=0.5)


def test_addcdiv():
    check(
        tw.addcdiv,
        lambda a, b, c, value=1: a + value * b / c,
        [Sample((A, B, C)), Sample((A, B, C), {"value": 3.0})],
        inplace="addcdiv_",
    )
    with pytest.raises(RuntimeError, match="integer"):
        tw.addcdiv(tw.tensor([1]), tw.tensor([2]), tw.tensor([3]))


def test_complex_gradients():
    z = [tw.tensor(np.array([1 + 2j, -0.5 + 1j]) * s, requires_grad=True) for s in (1, 1j, 2 - 1j)]
    for function in (tw.lerp, tw.addcmul, tw.addcdiv):
        assert tw.autograd.gradcheck(function, z)


def test_a_number_as_the_weight_keeps_its_digits_beside_half_types():
    a, b = tw.tensor([1.001, -3.3, 100.0]).half(), tw.tensor([2.0, 5.0, -7.0]).half()
    expected = (a.double() + 0.4 * (b.double() - a.double())).half().tolist()
    assert tw.lerp(a, b, 0.4).tolist() == expected
    assert a.clone().lerp_(b, 0.4).tolist() == expected
    assert tw.lerp(a, b, 1).tolist() == b.tolist()
    with pytest.raises(RuntimeError, match="lerp: a weight of dtype"):
        tw.lerp(a, b, tw.ones(3))
    with pytest.raises(RuntimeError, match="lerp: a weight of dtype"):
        tw.lerp(a, b, 1j)
