import numpy as np
import pytest
import thalweg as tw
from harness import check, sample


def dims(dim):
    return tuple(dim) if isinstance(dim, list) else dim


SAMPLES = [
    sample((5, 4)),
    sample((3, 4), dim=1),
    sample((3, 4), dim=[0, 1], correction=0),
    sample((2, 3, 4), dim=[0, 2], correction=1, keepdim=True),
]


def var(x, dim=None, correction=1, keepdim=False):
    return x.var(dims(dim), ddof=correction, keepdims=keepdim)


def mean(x, dim=None, correction=1, keepdim=False):
    return x.mean(dims(dim), keepdims=keepdim)


def test_var_std():
    check(tw.var, var, SAMPLES)
    check(tw.std, lambda *a, **k: np.sqrt(var(*a, **k)), SAMPLES)
    check(tw.var_mean, lambda *a, **k: (var(*a, **k), mean(*a, **k)), SAMPLES)
    check(tw.std_mean, lambda *a, **k: (np.sqrt(var(*a, **k)), mean(*a, **k)), SAMPLES)


def test_forms():
    x = tw.tensor([[1.0, 2.0, 4.0], [0.0, 0.0, 3.0]])
    assert x.var(False) == pytest.approx(x.numpy().var())
    np.testing.assert_allclose(x.std(1, False).numpy(), x.numpy().std(1), rtol=1e-6)
    assert tw.isnan(tw.tensor([1.0]).var())
    z = tw.tensor([1 + 2j, 3 - 1j, 0 + 0j])
    assert z.var().item() == pytest.approx(np.var(z.numpy(), ddof=1))


def test_large_mean():
    x = np.random.default_rng(0).normal(size=10000)
    assert tw.tensor(x + 1e8).var().item() == pytest.approx((x + 1e8).var(ddof=1), rel=1e-8)
    y = (x + 1e4).astype(np.float32)
    assert tw.tensor(y).var().item() == pytest.approx(y.astype(np.float64).var(ddof=1), rel=1e-6)


def test_rows_far_from_the_first_element():
    x = np.random.default_rng(1).normal(size=(3, 50)).astype(np.float32)
    x[1] += 1000
    for first in (1e9, 3e38, 1e4):
        x[0, 0] = first
        expected = x.astype(np.float64).var(1)
        np.testing.assert_allclose(tw.tensor(x).var(1, correction=0).numpy()[1:], expected[1:], rtol=1e-6)
        np.testing.assert_allclose(tw.tensor(x.T.copy()).var(0, correction=0).numpy()[1:], expected[1:], rtol=1e-6)


def test_huge_numbers():
    top = np.finfo(np.float64).max
    assert tw.tensor([top], dtype=tw.float64).var(correction=0).item() == 0
    assert tw.tensor([top, 1.0], dtype=tw.float64).var().item() == np.inf


def test_gradient_at_zero():
    x = tw.zeros(3, requires_grad=True)
    x.std().backward()
    assert x.grad.tolist() == [0, 0, 0]
