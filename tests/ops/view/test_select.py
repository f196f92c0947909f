import numpy as np
import pytest
import thalweg as tw
from harness import check, sample


def test_select():
    check(tw.select, lambda x, dim, index: np.take(x, index, dim), [sample((3, 4), 0, 1), sample((2, 3, 4), -1, -2)])


def test_unsqueeze():
    check(tw.unsqueeze, np.expand_dims, [sample((3, 4), 0), sample((3, 4), -1), sample((), 0)])


def test_sum_to_size_undoes_broadcasting():
    assert tw.tensor(True).sum_to_size(()).dtype == tw.int64
    check(lambda x: x.sum_to_size(3, 1), lambda x: x.sum((0, 2)).reshape(3, 1), [sample((2, 3, 4))])
    with pytest.raises(RuntimeError, match="sum_to_size: shape"):
        tw.ones(1, 3).sum_to_size(2, 3)


def test_positions_outside_are_refused():
    with pytest.raises(IndexError, match="select: index 3 is out of range for dim 0 of size 3"):
        tw.select(tw.ones(3), 0, 3)
    with pytest.raises(IndexError, match="unsqueeze: dim must be in"):
        tw.unsqueeze(tw.ones(3), 5)
