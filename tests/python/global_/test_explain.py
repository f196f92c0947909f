"""tw.sbp.explain: steps and bytes, from tensors and from sbp."""

import pytest
import thalweg as tw

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
LINE = tw.placement("cpu", [0, 1])


def steps(*args, **kwargs):
    return tw.sbp.explain(*args, **kwargs).splitlines()[1:]


def test_tensor_says_where_it_lies():
    x = tw.ones(4, 3, dtype=tw.float64, placement=LINE, sbp=S(0))
    assert steps(x, B) == ["1. all_gather over axis 0: 96 bytes (rank 0 sends 48, rank 1 sends 48)"]
    assert steps(x, S(-2, unit=2)) == ["1. nothing: 0 bytes"]
    assert steps(x, B, to_placement=tw.placement("cpu", [1])) == ["1. exchange: 48 bytes (rank 0 sends 48)"]


def test_several_steps_on_a_mesh():
    mesh = tw.placement("cpu", [[0, 1], [2, 3]])
    first, second = steps([P, S(1)], [B, B], (4, 4), placement=mesh)
    assert first.startswith("1. reduce: 128 bytes (rank 0 sends ")
    assert second.startswith("2. exchange: 128 bytes (rank 0 sends ")


def test_dtype_gives_the_bytes():
    assert "6 bytes" in steps(S(0), B, [6], placement=LINE, dtype=tw.int8)[0]
    assert "24 bytes" in steps(S(0), B, [6], placement=LINE)[0]


def test_what_is_missing_or_does_not_fit_is_named():
    with pytest.raises(TypeError, match=r"sbp\.explain: a global tensor, or an sbp with shape= and placement="):
        tw.sbp.explain(S(0), B)
    with pytest.raises(IndexError, match="splits a dim that a tensor of 1 dims does not have"):
        tw.sbp.explain(S(0), S(1), (4,), placement=LINE)
    with pytest.raises(TypeError, match="one for each axis, is wanted, got \\['B'\\]"):
        tw.sbp.explain(S(0), ["B"], (4,), placement=LINE)
    with pytest.raises(tw.PlacementError, match="states 2 parts of 4 elements"):
        tw.sbp.explain(S(0), S(0, sizes=(3, 1)), (5,), placement=LINE)
