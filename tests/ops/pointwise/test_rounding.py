import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

VALUES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.7, -3.2])


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round"])
def test_rounding(name):
    check(getattr(tw, name), getattr(np, name), [Sample((VALUES,))], inplace=name + "_", grad=False)
    assert getattr(tw, name)(tw.tensor([3, -4])).tolist() == [3, -4]
    leaf = tw.tensor(VALUES, requires_grad=True)
    getattr(tw, name)(leaf).sum().backward()
    assert leaf.grad.tolist() == [0.0] * 8


def test_decimals():
    check(
        tw.round, np.round, [Sample((array((9,), -100, 100),), {"decimals": d}) for d in (2, -1)], grad=False, sbp=False
    )


def test_frac_and_fix():
    check(tw.frac, lambda x: x - np.trunc(x), [Sample((array((9,), -5, 5),))], inplace="frac_")
    assert tw.fix(tw.tensor([-1.7])).item() == -1.0
