"""The harness itself: a signature that is wrong fails, and so does one that is sound and not offered."""

import numpy as np
import pytest
import thalweg as tw
from missing import Search, signature_text
from not_offered import reason_for
from sharded import MESHES, Call, check_none_is_missing, check_signature
from thalweg._registry import ops

B, SUM, MAX, MIN = ("B",), ("P", "sum"), ("P", "max"), ("P", "min")


def S(dim, unit=1):
    return ("S", dim, unit)


def x(*shape, seed=0):
    return tw.tensor(np.random.default_rng([seed, *shape]).uniform(-2, 2, shape))


def check(op, args, ins, outs, **kwargs):
    """On every mesh, the same signature on all axes."""
    call = Call(op, args, kwargs)
    for mesh in MESHES:
        check_signature(call, mesh, [(ins, outs)] * len(mesh), True)


def whole(dtype):
    return tw.tensor(np.random.default_rng(0).integers(-9, 100, (4, 6)) // 2).to(dtype)


INDEX = tw.tensor([[0, 3, 1], [2, 0, 3]])
WRONG = {
    "what is not linear sees no sum": (tw.exp, [x(4, 6)], [SUM], [SUM]),
    "what is not monotone sees no maximum": (tw.sin, [x(4, 6)], [MAX], [MAX]),
    "nor does what falls": (tw.neg, [x(4, 6)], [MAX], [MAX]),
    "the least integer has no negative": (tw.neg, [tw.arange(24).view(4, 6)], [MAX], [MIN]),
    "unsigned numbers do not fall when they are negated": (tw.neg, [whole(tw.uint8)], [MAX], [MIN]),
    "parts are not rounded before they are added": (ops.cast, [x(4, 6).float(), tw.bfloat16], [SUM], [SUM]),
    "nor cut to integers": (ops.cast, [x(4, 6), tw.int64], [SUM], [SUM]),
    "unsigned sums wrap before they widen": (ops.cast, [whole(tw.uint8), tw.int64], [SUM], [SUM]),
    "what narrows may turn round": (ops.cast, [whole(tw.int64) * 100, tw.int8], [MAX], [MAX]),
    "truth is not in order": (ops.cast, [tw.arange(24).view(4, 6) - 5, tw.bool], [MAX], [MAX]),
    "a mean of integers is rounded once": (
        ops.scatter_elements,
        [whole(tw.int64), 0, tw.zeros(4, 6, dtype=tw.int64), whole(tw.int64), "mean"],
        [SUM, B, SUM],
        [SUM],
    ),
    "a sum has one pending operand too few": (tw.add, [x(4, 6), x(4, 6)], [SUM, B], [SUM]),
    "maxima of two tensors come from two devices": (tw.add, [x(4, 6), x(4, 6)], [MAX, MAX], [MAX]),
    "a product has one pending operand too many": (tw.mul, [x(4, 6), x(4, 6)], [SUM, SUM], [SUM]),
    "the dim that is summed is not kept": (tw.sum, [x(4, 6), [0]], [S(0)], [S(0)]),
    "what is summed in parts is pending": (tw.sum, [x(4, 6), [0]], [S(0)], [B]),
    "as a sum, not as a maximum": (tw.sum, [x(4, 6), [0]], [S(0)], [MAX]),
    "a mean of parts is no part of the mean": (tw.logsumexp, [x(4, 6), [0]], [S(0)], [SUM]),
    "rows go with the rows of the result": (tw.mm, [x(4, 6), x(6, 3)], [S(0), B], [S(1)]),
    "what is contracted is cut in both": (tw.mm, [x(4, 6), x(6, 3)], [S(1), B], [SUM]),
    "a scan needs what came before": (tw.cumsum, [x(4, 6), 0], [S(0)], [S(0)]),
    "softmax needs its whole row": (ops.softmax, [x(4, 6), 1], [S(1)], [S(1)]),
    "a flipped dim changes places": (tw.flip, [x(4, 6), [0]], [S(0)], [S(0)]),
    "heads are cut whole": (ops.reshape, [x(4, 6), [4, 3, 2]], [S(1)], [S(1)]),
    "an index is not shifted by itself": (ops.index_gather, [x(4, 6), [INDEX]], [S(0), B], [SUM]),
    "normalised dims are not cut": (ops.layer_norm, [x(4, 6), [6]], [S(1), B, B], [S(1), B, B]),
}


@pytest.mark.parametrize("why", WRONG)
def test_a_wrong_signature_fails(why):
    op, args, ins, outs = WRONG[why]
    with pytest.raises((AssertionError, RuntimeError, IndexError, ValueError)):
        check(op, args, ins, outs)


def test_a_wrong_place_fails():
    with pytest.raises(AssertionError):  # the diagonal is counted from each part's first row
        call = Call(ops.tril, [x(4, 6)], {})
        call.localized = False
        call.run = lambda tensors, *_: list(call.op.on_shard(tensors, None, None, None, x(4, 6)))
        check_signature(call, MESHES[0], [([S(0)], [S(0)])], False)


def test_right_ones_pass():
    check(tw.neg, [x(4, 6)], [MAX], [MIN])
    check(ops.cast, [whole(tw.bfloat16), tw.float32], [SUM], [SUM])
    check(ops.cast, [whole(tw.int64), tw.int8], [SUM], [SUM])
    check(tw.add, [x(4, 6), x(4, 6)], [MAX, B], [MAX])
    check(tw.mm, [x(4, 6), x(6, 3)], [S(1), S(0)], [SUM])
    check(ops.reshape, [x(4, 6), [4, 3, 2]], [S(1, 2)], [S(1)])


def found(op, *args, offered=(), **kwargs):
    call = Call(op, args, kwargs)
    call.signatures = list(offered)
    return [signature_text(s) for s in Search(call).missing()]


def test_every_sound_signature_is_found():
    assert found(tw.neg, x(4, 6)) == [
        "S(0) -> S(0)", "S(1) -> S(1)", "P(sum) -> P(sum)", "P(max) -> P(min)", "P(min) -> P(max)"
    ]  # fmt: skip
    assert found(tw.exp, x(4, 6)) == ["S(0) -> S(0)", "S(1) -> S(1)", "P(max) -> P(max)", "P(min) -> P(min)"]
    assert set(found(tw.mm, x(4, 6), x(6, 4))) == {
        "S(0) B -> S(0)", "B S(1) -> S(1)", "S(1) S(0) -> P(sum)", "P(sum) B -> P(sum)", "B P(sum) -> P(sum)"
    }  # fmt: skip
    assert "S(1, unit=2) -> S(1)" in found(ops.reshape, x(4, 6), [4, 3, 2])
    assert "S(0, unit=4) -> S(0)" in found(ops.reshape, x(12), [3, 4])
    assert "S(1) S(0, unit=3) -> S(1)" not in found(tw.mul, x(2, 4), x(12)[:4])
    assert set(found(ops.tril, x(4, 6))) >= {"S(0) -> S(0)", "S(1) -> S(1)", "P(sum) -> P(sum)"}
    assert set(found(tw.cat, [x(4, 6), x(2, 6)])) >= {"S(1) S(1) -> S(1)", "P(sum) P(sum) -> P(sum)"}


def test_what_is_offered_is_not_missing():
    assert found(tw.exp, x(4, 6), offered=[([S(0)], [S(0)]), ([MAX], [MAX])]) == ["S(1) -> S(1)", "P(min) -> P(min)"]
    finer = [([S(1, 2)], [S(1)])]
    assert all("unit=2" not in text for text in found(ops.reshape, x(4, 12), [4, 6, 2], offered=finer))


def test_values_are_not_taken_for_rules():
    """What holds for some values alone is not sound: a sum of zeros, places that happen to lie in order."""
    assert found(ops.index_gather, x(4, 6), [tw.tensor([0, 1, 2, 3])]).count("S(0) S(0) -> S(0)") == 0
    assert "P(sum) -> P(sum)" not in found(tw.relu, tw.zeros(4, 6, dtype=tw.float64) + 1)


def test_one_that_is_missing_fails():
    call = Call(tw.mm, [x(4, 6), x(6, 3)], {})
    call.signatures = call.signatures[1:]
    call.key = lambda: "always searched"
    import sharded

    sharded.SEARCHED, before = 1, sharded.SEARCHED
    try:
        with pytest.raises(AssertionError, match="neither offered nor listed"):
            check_none_is_missing(call)
    finally:
        sharded.SEARCHED = before
    assert reason_for("mm", "S(0) B -> S(0)") is None
