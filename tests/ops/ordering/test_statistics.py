import numpy as np
import pytest
import thalweg as tw
from harness import check, sample


def test_diff():
    check(
        tw.diff,
        lambda x, n=1, dim=-1: np.diff(x, n, dim),
        [sample((3, 5)), sample((3, 5), n=2), sample((3, 5), dim=0), sample((3, 2), n=4)],
    )
    a, b = tw.tensor([1.0, 4.0]), tw.tensor([0.0])
    assert tw.diff(a, prepend=b, append=b).tolist() == [1, 3, -4]
    assert tw.tensor([True, False, False]).diff().tolist() == [True, False]


def test_trapezoid():
    y, x = np.random.default_rng(0).normal(size=(3, 5)), np.array([0.0, 1.0, 1.5, 4.0, 4.5])
    trapezoid = getattr(np, "trapezoid", None) or np.trapz
    np.testing.assert_allclose(tw.trapezoid(tw.tensor(y)).numpy(), trapezoid(y))
    np.testing.assert_allclose(tw.trapezoid(tw.tensor(y), tw.tensor(x)).numpy(), trapezoid(y, x))
    np.testing.assert_allclose(tw.trapz(tw.tensor(y), dx=0.5, dim=0).numpy(), trapezoid(y, dx=0.5, axis=0))
    steps = (y[:, 1:] + y[:, :-1]) / 2 * np.diff(x)
    np.testing.assert_allclose(tw.cumulative_trapezoid(tw.tensor(y), tw.tensor(x)).numpy(), steps.cumsum(1))


def test_cov_corrcoef():
    check(tw.cov, lambda x: np.cov(x), [sample((3, 5)), sample((6,)), sample((1, 4))], exact=False)
    check(tw.corrcoef, lambda x: np.corrcoef(x), [sample((3, 5))])
    x, f, a = np.random.default_rng(0).normal(size=(2, 4)), np.array([1, 2, 1, 3]), np.array([0.5, 1, 2, 1])
    got = tw.cov(tw.tensor(x), fweights=tw.tensor(f), aweights=tw.tensor(a))
    np.testing.assert_allclose(got.numpy(), np.cov(x, fweights=f, aweights=a))
    with pytest.raises(RuntimeError, match="fweights"):
        tw.cov(tw.tensor(x), fweights=tw.tensor([1, 2]))


def test_cdist():
    def reference(a, b, p=2.0):
        return np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], p, -1)

    check(tw.cdist, reference, [sample((3, 4), (2, 4)), sample((2, 3, 4), (2, 2, 4), p=1.0)])


def test_trapezoids_of_bytes_wrap_around():
    y, x = (tw.tensor(v, dtype=tw.uint8) for v in ([200, 100, 7], [9, 3, 90]))
    assert tw.trapezoid(y, x).item() == 170.5 and tw.trapezoid(y).item() == 203.5


@pytest.mark.parametrize("p", [0, 1, 2, 3.5, float("inf")])
def test_pdist(p):
    first, second = np.triu_indices(4, 1)
    check(
        lambda x: tw.pdist(x, p),
        lambda x: np.linalg.norm(x[first] - x[second], p, -1),
        [sample((4, 3))],
        grad=p != 0,
    )
    assert tw.pdist(tw.ones(1, 3)).shape == (0,)
    with pytest.raises(RuntimeError, match=r"pdist: a matrix is wanted, got a tensor of shape \[2\]"):
        tw.pdist(tw.ones(2))
