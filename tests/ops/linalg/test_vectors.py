import numpy as np
import pytest
import thalweg as tw
from harness import check, sample


def test_products_with_vectors():
    check(tw.mv, np.matmul, [sample((3, 4), (4,)), sample((0, 4), (4,)), sample((2, 0), (0,))])
    check(tw.dot, np.dot, [sample((4,), (4,)), sample((0,), (0,))])
    check(tw.inner, np.inner, [sample((2, 3), (4, 5, 3)), sample((), (2, 3)), sample((3,), (3,))])
    check(tw.outer, np.outer, [sample((3,), (4,)), sample((0,), (4,))])
    check(tw.ger, np.outer, [sample((3,), (4,))])


def test_vdot_conjugates_the_first():
    a, b = tw.tensor([1 + 2j, 3j]), tw.tensor([2 - 1j, 1 + 1j])
    assert tw.vdot(a, b).item() == np.vdot(a.numpy(), b.numpy())


def test_lengths_must_agree():
    with pytest.raises(RuntimeError, match="dot: vectors of one length are wanted, got 3 and 4"):
        tw.dot(tw.ones(3), tw.ones(4))
