import numpy as np
import thalweg as tw
from harness import Sample, array, check

COMPLEX = np.array([3 + 4j, -1 + 0.5j, -2j])


def test_real():
    check(tw.abs, np.abs, [Sample((array((3, 4)),))], inplace="abs_")
    check(tw.sign, np.sign, [Sample((array((3, 4)),))], inplace="sign_")
    check(tw.sgn, np.sign, [Sample((array((3, 4)),))], inplace="sgn_")
    check(tw.angle, np.angle, [Sample((array((3, 4)),))])
    assert tw.absolute(tw.tensor([-3, 2])).tolist() == [3, 2]
    assert tw.sign(tw.tensor([True, False])).tolist() == [True, False]


def test_complex():
    z = tw.tensor(COMPLEX)
    np.testing.assert_allclose(z.abs().numpy(), np.abs(COMPLEX))
    np.testing.assert_allclose(z.angle().numpy(), np.angle(COMPLEX))
    np.testing.assert_allclose(z.sgn().numpy(), COMPLEX / np.abs(COMPLEX))
    assert tw.sgn(tw.tensor([0j])).item() == 0
    for function in (tw.abs, tw.angle, tw.sgn):
        leaf = tw.tensor(COMPLEX, requires_grad=True)
        assert tw.autograd.gradcheck(function, [leaf])


def test_complex_from_parts():
    r, t = array((3,), 0.5, 2), array((3,), -1, 1)
    np.testing.assert_allclose(tw.polar(tw.tensor(r), tw.tensor(t)).numpy(), r * np.exp(1j * t))
    np.testing.assert_allclose(tw.complex(tw.tensor(r), tw.tensor(t)).numpy(), r + 1j * t)
    leaves = [tw.tensor(r, requires_grad=True), tw.tensor(t, requires_grad=True)]
    assert tw.autograd.gradcheck(tw.polar, leaves)
    assert tw.autograd.gradcheck(tw.complex, leaves)


def test_parts_are_views():
    z = tw.tensor([1 + 2j, 3 - 1j])
    assert z.real.tolist() == [1.0, 3.0]
    z.imag = 5.0
    assert z.tolist() == [1 + 5j, 3 + 5j]
    x = tw.ones(2)
    assert x.real is x
