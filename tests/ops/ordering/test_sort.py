import numpy as np
import pytest
import thalweg as tw
from harness import check, sample

SAMPLES = [sample((3, 5)), sample((3, 5), dim=0), sample((2, 0))]


def test_sort():
    check(tw.sort, lambda x, dim=-1: (np.sort(x, dim), np.argsort(x, dim)), SAMPLES)
    check(tw.argsort, lambda x, dim=-1: np.argsort(x, dim), SAMPLES, grad=False)
    check(tw.msort, lambda x: np.sort(x, 0), SAMPLES[:1])
    values, indices = tw.tensor([3, 1, 3, 2]).sort(descending=True, stable=True)
    assert values.tolist() == [3, 3, 2, 1] and indices.tolist() == [0, 2, 3, 1]
    values, indices = tw.tensor(5.0).sort()
    assert values == 5 and indices == 0


def test_topk():
    def largest(x, k, dim=-1):
        at = np.flip(np.argsort(x, dim), dim).take(range(k), dim)
        return np.take_along_axis(x, at, dim), at

    check(tw.topk, largest, [sample((3, 5), 2), sample((4, 3), 3, 0), sample((3, 2), 0)])
    assert tw.tensor([3, 1, 2]).topk(2, largest=False).values.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="topk"):
        tw.tensor([1.0]).topk(2)


def test_kthvalue_median_mode():
    check(
        tw.kthvalue,
        lambda x, k, dim=-1: (np.sort(x, dim).take(k - 1, dim), np.argsort(x, dim).take(k - 1, dim)),
        [sample((3, 5), 2), sample((3, 5), 3, 0)],
    )
    check(
        tw.median,
        lambda x, dim: (
            np.sort(x, dim).take((x.shape[dim] - 1) // 2, dim),
            np.argsort(x, dim).take((x.shape[dim] - 1) // 2, dim),
        ),
        [sample((3, 4), dim=1), sample((3, 4), dim=0)],
    )
    check(tw.median, lambda x: np.sort(x.reshape(-1))[5], [sample((3, 4))])
    x = tw.tensor([[1.0, float("nan"), 3.0, 2.0]])
    assert x.nanmedian(1).indices.tolist() == [3] and tw.isnan(x.median(1).values).all()
    values, indices = tw.tensor([[1, 3, 3, 1, 2], [5, 5, 5, 0, 0]]).mode()
    assert values.tolist() == [1, 5] and indices.tolist() == [3, 2]


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantile(interpolation):
    x = np.random.default_rng(0).normal(size=(4, 7))
    q = [0.0, 0.3, 0.5, 1.0]
    t = tw.tensor(x)
    for dim in (None, 0, 1):
        for keepdim in (False, True):
            expected = np.quantile(x, q, dim, method=interpolation, keepdims=keepdim)
            got = tw.quantile(t, tw.tensor(q, dtype=tw.float64), dim, keepdim, interpolation=interpolation)
            np.testing.assert_allclose(got.numpy(), expected)
    assert tw.quantile(t, 0.5, interpolation=interpolation).shape == ()
    wanted = (t[:, :3].clone().requires_grad_(), tw.tensor([0.3, 0.8], dtype=tw.float64, requires_grad=True))
    assert tw.autograd.gradcheck(lambda x, q: tw.quantile(x, q, 1, interpolation=interpolation), wanted)
    x[0, 0] = np.nan
    t = tw.tensor(x)
    assert tw.isnan(t.quantile(0.5, 1)).tolist() == [True, False, False, False]
    np.testing.assert_allclose(
        t.nanquantile(0.4, 1, interpolation=interpolation).numpy(), np.nanquantile(x, 0.4, 1, method=interpolation)
    )
