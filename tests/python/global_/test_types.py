"""Placements and sbp: what they are made of, how they compare, print, pickle and fail."""

import pickle

import numpy as np
import pytest
import thalweg as tw

S, B = tw.sbp.split, tw.sbp.broadcast


def test_placement_keeps_the_order_and_shape_of_its_ranks():
    p = tw.placement("cpu", [[2, 0], [3, 1]])
    assert p.type == "cpu" and p.ndim == 2 and p.shape == (2, 2) and p.device_count == 4
    np.testing.assert_array_equal(p.ranks, [[2, 0], [3, 1]])
    assert p != tw.placement("cpu", [[0, 1], [2, 3]]) and p != tw.placement("cpu", [2, 0, 3, 1])
    assert p == tw.placement("cpu", np.array([[2, 0], [3, 1]])) and hash(p) == hash(
        tw.placement("cpu", ((2, 0), (3, 1)))
    )
    assert repr(p) == 'placement(type="cpu", ranks=[[2, 0], [3, 1]])'
    assert pickle.loads(pickle.dumps(p)) == p
    assert tw.placement("cpu", 1) == tw.placement("cpu", [1])


def test_all_ranks():
    assert tw.placement.all("cpu") == tw.placement("cpu", [0, 1, 2, 3])
    assert tw.placement.all(type="cpu").ranks.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("ranks", [[], [0, 0], [-1], [[0, 1], [2]]])
def test_bad_ranks_are_refused(ranks):
    with pytest.raises(ValueError):
        tw.placement("cpu", ranks)


def test_ranks_that_do_not_exist_are_named_when_used():
    with pytest.raises(tw.PlacementError, match="rank 7"):
        tw.zeros(2, placement=tw.placement("cpu", [0, 7]), sbp=B)


def test_sbp_values():
    assert S(0) == S(0) and S(0) != S(1) and S(0, unit=2) != S(0) and S(0, sizes=[3, 1]) == S(0, sizes=(3, 1))
    assert tw.sbp.broadcast() is B and tw.sbp.partial_sum() == tw.sbp.partial_sum != tw.sbp.partial_max
    assert isinstance(B, tw.sbp.sbp) and isinstance(S(0), tw.sbp.sbp)
    assert len({S(0), S(0), B, B(), tw.sbp.partial_min, tw.sbp.partial_min()}) == 3
    for value in (S(-1, unit=64), S(0, sizes=(3, 1)), B, tw.sbp.partial_max):
        assert pickle.loads(pickle.dumps(value)) == value
    assert repr(S(1, unit=64)) == "sbp.split(1, unit=64)" and repr(tw.sbp.partial_sum) == "sbp.partial_sum"
    with pytest.raises(TypeError):
        S("0")
    with pytest.raises(ValueError):
        S(0, unit=0)


def test_number_of_sbp_is_that_of_axes():
    x = tw.zeros(4, 4)
    with pytest.raises(tw.PlacementError, match="one an axis"):
        x.to_global(tw.placement("cpu", [[0, 1], [2, 3]]), B)
    with pytest.raises(TypeError, match="sbp"):
        x.to_global(tw.placement("cpu", [0, 1]), 0)


def test_many_dims_and_negative_ones():
    x = tw.arange(128).reshape([2] * 7)
    g = x.to_global(tw.placement("cpu", [0, 1]), S(-1))
    assert g.sbp == (S(6),) and g.to_local()[1].shape == (2, 2, 2, 2, 2, 2, 1)
    np.testing.assert_array_equal(g.numpy(), x.numpy())
    with pytest.raises(IndexError, match="7 dims"):
        x.to_global(tw.placement("cpu", [0, 1]), S(7))
