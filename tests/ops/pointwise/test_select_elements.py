import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

MASK = array((3, 4), seed=5) > 0


def test_where():
    check(
        lambda x, y: tw.where(tw.tensor(MASK, device=x.device), x, y),
        lambda x, y: np.where(MASK, x, y),
        [Sample((array((3, 4)), array((4,), seed=1)))],
    )
    assert tw.where(tw.tensor([True, False]), 1.0, 0.0).dtype == tw.float32
    assert tw.where(tw.tensor([True, False]), tw.tensor([1, 2]), 0.5).tolist() == [1.0, 0.5]
    x = tw.tensor([1.0, 2.0])
    assert x.where(x > 1, 0).tolist() == [0.0, 2.0]
    assert [i.tolist() for i in tw.where(x > 1)] == [[1]]


def test_masked_fill():
    mask = tw.tensor(MASK)
    check(
        lambda x: tw.masked_fill(x, mask.to(x.device), 3.0),
        lambda x: np.where(MASK, 3.0, x),
        [Sample((array((3, 4)),))],
    )
    value = tw.tensor(2.0, requires_grad=True)
    tw.zeros(3, 4).masked_fill(mask, value).sum().backward()
    assert value.grad.item() == MASK.sum()
    with pytest.raises(RuntimeError, match="bool"):
        tw.zeros(2).masked_fill(tw.tensor([1, 0]), 1.0)


def test_in_place_ops_on_cells_that_several_elements_share():
    # pytorch/pytorch#17935: refused, or each cell changed once; the out-of-place forms are right
    quarter = tw.tensor([0.7853981633974483])
    wide = quarter.expand(3)
    np.testing.assert_allclose(wide.cos().numpy(), [0.70710678] * 3, rtol=1e-6)
    with pytest.raises(RuntimeError):
        wide.cos_()
    base = tw.zeros(2, 2)
    mask = tw.tensor([[[True, False], [False, False]], [[False, False], [False, True]]])
    assert base.expand(2, 2, 2).masked_fill(mask, 1.0).sum().item() == 2.0
    with pytest.raises(RuntimeError):
        base.expand(2, 2, 2).masked_fill_(mask, 1.0)


def test_fill_and_zero():
    x = tw.ones(4, 4)
    assert x[:, 1].fill_(7)._version == x._version
    assert x.sum().item() == 12 + 28
    assert tw.fill(x, 2).sum().item() == 32
    assert x.zero_().sum().item() == 0
    assert tw.ones(2, dtype=tw.int64).fill_(1.9).tolist() == [1, 1]
    leaf = tw.ones(2, requires_grad=True)
    (leaf * 2).fill_(5).sum().backward()
    assert leaf.grad.tolist() == [0.0, 0.0]
