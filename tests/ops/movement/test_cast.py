"""cast, copy: pending sums where nothing is rounded, extremes where the order stays, for every pair of dtypes."""

import numpy as np
import pytest
import sharded
import thalweg as tw
from missing import Search, signature_text
from not_offered import reason_for
from thalweg._registry import ops

DTYPES = [
    tw.bool, tw.uint8, tw.int8, tw.int16, tw.int32, tw.int64, tw.float16, tw.bfloat16, tw.float32, tw.float64,
    tw.complex64, tw.complex128,
]  # fmt: skip
SUM, MAX, MIN = (["P", "sum"], ["P", "max"], ["P", "min"])


def values(dtype):
    """Numbers that use the digits of the dtype; whole ones where they are few."""
    rng = np.random.default_rng(0)
    if dtype is tw.bool:
        return tw.tensor(rng.integers(0, 2, (4, 6)).astype(bool))
    if not (dtype.is_floating_point or dtype.is_complex):
        info = np.iinfo(str(dtype).rsplit(".")[-1])
        most = 255 if dtype is tw.uint8 else info.max // 4  # the sums of two fit
        return tw.tensor(rng.integers(info.min // 4, most, (4, 6)).astype(info.dtype))
    if dtype in (tw.float16, tw.bfloat16):
        return tw.tensor(rng.integers(-60, 60, (4, 6)).astype(np.float32)).to(dtype)
    real = tw.tensor(rng.uniform(-2, 2, (4, 6))).to(tw.float64)
    return (tw.complex(real, real + 1) if dtype.is_complex else real).to(dtype)


def pending(op, *args):
    return [tuple(inputs[-1][1:]) for inputs, _ in op.signatures(*args) if inputs[-1][0] == "P"]


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_what_is_offered_is_sound_and_nothing_else_is(source):
    for target in DTYPES:
        call = sharded.Call(ops.cast, [values(source), target], {})
        for ins, outs in call.signatures:
            for mesh in sharded.MESHES[:3]:
                sharded.check_signature(call, mesh, [(ins, outs)] * len(mesh), False)
        if target is tw.bool:
            continue  # nearly all numbers are true, so that more would seem to hold
        found = [text for text in map(signature_text, Search(call).missing()) if reason_for("cast", text) is None]
        if source.is_floating_point and not (target.is_floating_point or target.is_complex):
            found = [text for text in found if "P(max)" not in text]  # what infinities become is the machine's matter
        assert not found, f"{source} to {target}: {found}"


@pytest.mark.parametrize(
    "source, target, kinds",
    [
        (tw.bfloat16, tw.float32, "sum max min"),
        (tw.float32, tw.bfloat16, "max min"),
        (tw.float16, tw.bfloat16, "max min"),
        (tw.float32, tw.complex64, "sum"),
        (tw.complex128, tw.float32, ""),
        (tw.int64, tw.int32, "sum"),
        (tw.int32, tw.int64, "sum max min"),
        (tw.uint8, tw.int64, "max min"),
        (tw.int16, tw.float32, "sum max min"),
        (tw.int32, tw.float32, "max min"),
        (tw.float32, tw.int64, ""),
        (tw.bool, tw.float32, "max min"),
        (tw.int32, tw.bool, ""),
        (tw.uint8, tw.bool, "max min"),
    ],
    ids=str,
)
def test_what_passes(source, target, kinds):
    assert [kind for (kind,) in pending(ops.cast, values(source), target)] == kinds.split()
    assert [kind for (kind,) in pending(ops.copy, values(source).to(target), values(source))] == kinds.split()


def test_copies_into_what_is_pending():
    tw.env.init(devices_per_process=2)
    try:
        where = tw.placement("cpu", [0, 1])
        target = tw.zeros(3, dtype=tw.float64, placement=where, sbp=tw.sbp.partial_sum)
        target.copy_(tw.ones(6, 3, placement=where, sbp=tw.sbp.split(0)).sum(0))
        assert target.sbp == (tw.sbp.partial_sum,) and target.numpy().tolist() == [6, 6, 6]
        assert [part.tolist() for part in target.to_local()] == [[3, 3, 3]] * 2
    finally:
        tw.env.init()
