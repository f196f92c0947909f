import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

PAIR = Sample((array((3, 4)), array((4,), seed=1)))


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_extremes(name):
    check(getattr(tw, name), getattr(np, name), [PAIR, Sample((array((0, 3)), array((3,))))])
    a, b = np.array([np.nan, 1.0, np.inf]), np.array([2.0, np.nan, -np.inf])
    np.testing.assert_array_equal(getattr(tw, name)(tw.tensor(a), tw.tensor(b)).numpy(), getattr(np, name)(a, b))


def test_ties_share_the_gradient():
    a, b = tw.ones(2, requires_grad=True), tw.ones(2, requires_grad=True)
    tw.maximum(a, b).sum().backward()
    assert a.grad.tolist() == b.grad.tolist() == [0.5, 0.5]


def test_clamp():
    check(
        tw.clamp,
        np.clip,
        [
            Sample((array((3, 4)), -0.5, 1.0)),
            Sample((array((3, 4)), array((4,), -2, 0, seed=2), array((4,), 0, 2, seed=3))),
        ],
        inplace="clamp_",
    )
    check(tw.clamp_min, np.maximum, [Sample((array((3, 4)), 0.3))], inplace="clamp_min_")
    check(tw.clamp_max, np.minimum, [Sample((array((3, 4)), 0.3))], inplace="clamp_max_")
    assert tw.clip(tw.tensor([1, 5]), max=3).tolist() == [1, 3]
    assert tw.clamp(tw.tensor([5.0]), 3, 1).item() == 1.0
    assert np.isnan(tw.clamp(tw.tensor([float("nan")]), 0, 1).item())
    assert tw.clamp(tw.tensor([1, 5]), 0.5, 1.5).tolist() == [1.0, 1.5]
    with pytest.raises(ValueError, match="at least one"):
        tw.clamp(tw.ones(2))
