import numpy as np
import pytest
import thalweg as tw


def test_unique():
    x = np.array([[3, 1, 2], [1, 3, 3]])
    values, inverse, counts = tw.unique(tw.tensor(x), return_inverse=True, return_counts=True)
    expected = np.unique(x, return_inverse=True, return_counts=True)
    assert values.tolist() == expected[0].tolist() and counts.tolist() == expected[2].tolist()
    assert (values[inverse] == tw.tensor(x)).all()
    assert tw.unique(tw.tensor([float("nan"), 1.0, float("nan")])).shape == (3,)
    assert tw.tensor([True, False, True]).unique().tolist() == [False, True]
    assert tw.zeros(0).unique().shape == (0,)


def test_unique_along_a_dim():
    x = np.array([[1, 2, 1], [0, 5, 0]])
    values, inverse, counts = tw.unique(tw.tensor(x), return_inverse=True, return_counts=True, dim=1)
    assert values.tolist() == [[1, 2], [0, 5]] and inverse.tolist() == [0, 1, 0] and counts.tolist() == [2, 1]


def test_slices_along_every_dim():
    x = np.random.default_rng(0).integers(0, 2, (3, 4, 9))
    for dim in range(3):
        assert tw.tensor(x).unique(dim=dim).tolist() == np.unique(x, axis=dim).tolist()


def test_unique_consecutive():
    x = tw.tensor([1, 1, 2, 2, 1])
    values, inverse, counts = tw.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 1] and inverse.tolist() == [0, 0, 1, 1, 2] and counts.tolist() == [2, 2, 1]
    assert x.reshape(5, 1).unique_consecutive(dim=0).tolist() == [[1], [2], [1]]


def test_bincount_histc():
    x = np.array([1, 3, 1, 0])
    w = np.array([0.5, 1.0, 2.0, 4.0])
    assert tw.bincount(tw.tensor(x)).tolist() == np.bincount(x).tolist()
    assert tw.bincount(tw.tensor(x), tw.tensor(w), minlength=6).tolist() == np.bincount(x, w, 6).tolist()
    assert tw.zeros(0, dtype=tw.int64).bincount().shape == (0,)
    with pytest.raises(RuntimeError, match="negative"):
        tw.tensor([-1]).bincount()
    y = np.random.default_rng(0).normal(size=200)
    assert tw.histc(tw.tensor(y), 7).tolist() == np.histogram(y, 7)[0].tolist()
    assert tw.histc(tw.tensor(y), 4, -1, 1).tolist() == np.histogram(y, 4, (-1, 1))[0].tolist()


def test_searchsorted_bucketize():
    edges = np.array([-1.0, 0.0, 0.0, 1.5])
    values = np.array([[-2.0, 0.0], [1.5, 9.0]])
    for right in (False, True):
        expected = np.searchsorted(edges, values, "right" if right else "left")
        assert tw.searchsorted(tw.tensor(edges), tw.tensor(values), right=right).tolist() == expected.tolist()
        assert tw.bucketize(tw.tensor(values), tw.tensor(edges), right=right).tolist() == expected.tolist()
    rows = tw.tensor([[1, 3, 5], [2, 4, 6]])
    found = tw.searchsorted(rows, tw.tensor([[3, 4], [3, 7]]), out_int32=True)
    assert found.tolist() == [[1, 2], [1, 3]] and found.dtype == tw.int32
    shuffled, sorter = tw.tensor([5, 1, 3]), tw.tensor([1, 2, 0])
    assert tw.searchsorted(shuffled, 3, sorter=sorter, side="right") == 2
    with pytest.raises(RuntimeError, match="side"):
        tw.searchsorted(rows[0], 1, side="middle")


def test_isin():
    x, among = np.array([[1, 5, 2], [7, 2, 0]]), np.array([2, 7, 7, -1])
    assert tw.isin(tw.tensor(x), tw.tensor(among)).tolist() == np.isin(x, among).tolist()
    assert tw.isin(tw.tensor(x), tw.tensor(among), invert=True).tolist() == np.isin(x, among, invert=True).tolist()
    assert tw.isin(tw.tensor(x), 2.5).any().item() is False and tw.isin(7, tw.tensor(among)).item() is True
    nan = tw.tensor([float("nan"), 1.0])
    assert tw.isin(nan, nan).tolist() == [False, True]
    assert tw.isin(tw.tensor([float("inf")]), nan).tolist() == [False]
    assert tw.isin(tw.tensor(x), tw.tensor([])).any().item() is False
    with pytest.raises(TypeError, match="isin: at least one Tensor is wanted, got int and float"):
        tw.isin(1, 2.0)
