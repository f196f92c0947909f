"""Every SBP signature of an op, run part by part on virtual devices, forward and backward, against the whole.

A sample is run as 1-d signatures on 2 and 3 devices, cut evenly, unevenly and with devices that hold nothing, and as
products of two on 2x2. Each signature takes RUNS of these, chosen by a fixed rotation; THALWEG_SBP=all takes all.
Signatures that are sound but not offered are looked for in missing.py.
"""

import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import thalweg as tw
from calls import REGISTRY, calls_of
from global_programs import check_programs
from missing import Search, signature_text
from not_offered import reason_for
from parts import Axis, Mesh, boxes, gradient_layout, join, spread, unit_counts
from tolerance import assert_close

MESHES: list[Mesh] = [
    (Axis(2),),
    (Axis(3),),
    (Axis(2), Axis(2)),
    (Axis(3, "hole"),),
    (Axis(2, "lopsided"),),
    (Axis(2, "lopsided"), Axis(3, "hole")),
]
RUNS = 2
SEARCHED, MOST_COMBINATIONS = 20, 20_000
ALL = os.environ.get("THALWEG_SBP") == "all"

_checked: set[str] = set()


class Call:
    """An op with the arguments of a call: what devices with parts of its tensors run."""

    def __init__(self, op: Any, args: tuple | list, kwargs: dict) -> None:
        self.op, self.args, self.kwargs = op, args, kwargs
        self.inputs, self.groups = _inputs(op, args, kwargs)
        self.localized = REGISTRY[op.__name__]["localized"]
        self.signatures = [s for s in op.signatures(*args, **kwargs) if not self._sums_truth(s)]
        self.outputs = self.run(self.inputs)
        self.shapes = [list(t.shape) for t in self.outputs]

    def _sums_truth(self, signature: tuple) -> bool:
        """Truth values are no pending sum."""
        return any(
            layout == ("P", "sum") and t is not None and t.dtype is tw.bool
            for t, layout in zip(self.inputs, signature[0], strict=True)
        )

    def run(self, tensors: list, *places: list | None) -> list:
        """All outputs, the hidden ones too; random ops draw the same in every run. `places`: firsts of the inputs,
        sizes and firsts of the outputs; None where the tensors are the whole."""
        tw.manual_seed(0)
        return list(self.op.on_shard(tensors, *(places or [None] * 3), *self.args, **self.kwargs))

    def key(self) -> str:
        """Equal for calls that rules and kernels treat alike."""
        shapes = [None if t is None else (tuple(t.shape), str(t.dtype)) for t in self.inputs]
        rest = [a for a in self.args if not _holds_tensors(a)]
        named = {k: v for k, v in self.kwargs.items() if not _holds_tensors(v)}
        return f"{self.op.__name__} {shapes} {rest} {named}"


def check_signatures(function: Callable, args: list, kwargs: dict, grad: bool) -> None:
    """The signatures of an op, or of the ops that a composite and gradients are made of."""
    for op, call_args, call_kwargs in calls_of(function, args, kwargs, grad):
        check_call(op, call_args, call_kwargs, grad)


def check_call(op: Any, args: tuple | list, kwargs: dict, grad: bool) -> None:
    """Every signature that the op offers for this call; none that is sound may be missing."""
    call = Call(op, args, kwargs)
    if not ALL and call.key() in _checked:
        return
    _checked.add(call.key())
    check_programs(call, call.key(), ALL)
    check_none_is_missing(call)
    check_offered(call, grad)


def check_offered(call: Call, grad: bool) -> None:
    """Every signature that the op offers for the call, on the meshes that are its turn."""
    for i, first in enumerate(call.signatures):
        for mesh in meshes(call.key(), i):
            for second in seconds(call, i) if len(mesh) == 2 else [None]:
                check_signature(call, mesh, [first] if second is None else [first, second], grad)


def check_none_is_missing(call: Call) -> None:
    """Looks for sound signatures of one call in SEARCHED, with THALWEG_SBP=all of every one that is not too large."""
    if not call.outputs:
        return
    search = Search(call)
    if not ALL and (zlib.crc32(call.key().encode()) % SEARCHED or search.combinations() > 500):
        return
    if search.combinations() > MOST_COMBINATIONS:
        return
    found = [text for text in map(signature_text, search.missing()) if reason_for(call.op.__name__, text) is None]
    assert not found, f"{call.key()}: sound, but neither offered nor listed in not_offered.py: " + "; ".join(found)


def meshes(key: str, number: int) -> list[Mesh]:
    """What the signature of this number is run on."""
    if ALL:
        return MESHES
    begin = zlib.crc32(key.encode()) + number * RUNS
    return [MESHES[(begin + i) % len(MESHES)] for i in range(RUNS)]


def seconds(call: Call, number: int) -> list:
    """What the second axis runs where the first runs the signature of this number."""
    if ALL:
        return call.signatures
    return [call.signatures[(zlib.crc32(call.key().encode()) + 7 * number) % len(call.signatures)]]


def check_signature(call: Call, mesh: Mesh, signatures: list, grad: bool) -> None:
    """The op under a signature for each axis."""
    what = f"{call.op.__name__} on {mesh}: " + " and ".join(f"{ins} -> {outs}" for ins, outs in signatures)
    for ins, outs in signatures:
        shapes = [[] if t is None else list(t.shape) for t in call.inputs]
        counts = unit_counts(shapes, ins) | unit_counts(call.shapes, outs)
        assert len(counts) <= 1, f"{what}: dims of {counts} units are cut together"
    layouts_in = [[ins[i] for ins, _ in signatures] for i in range(len(call.inputs))]
    layouts_out = [[outs[i] for _, outs in signatures] for i in range(len(call.outputs))]
    places = [boxes(shape, layouts, mesh) for shape, layouts in zip(call.shapes, layouts_out, strict=True)]

    def on_device(d: int, parts: list) -> list:
        firsts, sizes = [place[d][0] for place in places], [place[d][1] for place in places]
        return call.run([part[d].tensor for part in parts], [part[d].first for part in parts], sizes, firsts)

    rng = np.random.default_rng(1)
    parts = [spread(t, layouts, mesh, rng) for t, layouts in zip(call.inputs, layouts_in, strict=True)]
    devices = range(len(places[0]) if places else 0)
    results = [on_device(d, parts) for d in devices]
    for i, (expected, layouts) in enumerate(zip(call.outputs, layouts_out, strict=True)):
        for d in devices:
            assert list(results[d][i].shape) == places[i][d][1], f"{what}: shape of output {i} on device {d}"
        _assert_same(join([result[i] for result in results], layouts, mesh), expected, f"{what}: output {i}")
    if grad and not any(layout[1:] in (("max",), ("min",)) for layout in sum(layouts_in + layouts_out, [])):
        _check_backward(call, mesh, layouts_in, layouts_out, on_device, what)


def _assert_same(got: tw.Tensor, expected: tw.Tensor, what: str) -> None:
    assert_close(got, expected, "float32" if expected.dtype.is_floating_point or expected.is_complex() else "", what)


def _check_backward(
    call: Call, mesh: Mesh, layouts_in: list, layouts_out: list, on_device: Callable, what: str
) -> None:
    rng = np.random.default_rng(2)
    weights = [tw.tensor(rng.uniform(-1, 1, shape)) for shape in call.shapes]
    expected = _gradients(call.run, call.inputs, weights)
    if all(g is None for g in expected):
        return
    shares = [
        spread(w, [gradient_layout(layout) for layout in layouts], mesh, rng)
        for w, layouts in zip(weights, layouts_out, strict=True)
    ]
    parts = [spread(t, layouts, mesh, rng) for t, layouts in zip(call.inputs, layouts_in, strict=True)]

    def of_device(d: int) -> list:
        def run(leaves: list) -> list:
            return on_device(d, [{d: part[d]._replace(tensor=leaf)} for part, leaf in zip(parts, leaves, strict=True)])

        return _gradients(run, [part[d].tensor for part in parts], [share[d].tensor for share in shares])

    found = [of_device(d) for d in range(len(shares[0]))]
    for i, (want, layouts) in enumerate(zip(expected, layouts_in, strict=True)):
        if want is not None:
            joined = join([gradients[i] for gradients in found], [gradient_layout(layout) for layout in layouts], mesh)
            _assert_same(joined, want, f"{what}: gradient of input {i}")


def _gradients(run: Callable, inputs: list, weights: list) -> list:
    """Of the weighted outputs by every floating input; None where there is none."""
    leaves = [t.detach().clone().requires_grad_() if _is_float(t) else t for t in inputs]
    outputs = [(t, w) for t, w in zip(run(leaves), weights, strict=True) if t.requires_grad]
    wanted = [t for t in leaves if _is_float(t)]
    if not outputs or not wanted:
        return [None] * len(inputs)
    cotangents = [w.to(t.dtype) for t, w in outputs]
    found = iter(tw.autograd.grad([t for t, _ in outputs], wanted, cotangents, allow_unused=True))
    gradients = [next(found) if _is_float(t) else None for t in leaves]
    return [tw.zeros_like(t) if g is None and _is_float(t) else g for g, t in zip(gradients, leaves, strict=True)]


def _is_float(t: Any) -> bool:
    return isinstance(t, tw.Tensor) and t.dtype.is_floating_point


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(isinstance(v, tw.Tensor) for v in value)
    return isinstance(value, tw.Tensor)


def _inputs(op: Any, args: tuple | list, kwargs: dict) -> tuple[list, list[list[int]]]:
    """The tensors of a call in the schema's order, lists flattened; None where one is absent or a number. With them
    the numbers of those that can lie alike: one by one, but those of a list together that have as many dims."""
    params = REGISTRY[op.__name__]["params"]
    given = dict(zip((name for name, _ in params), args, strict=False)) | kwargs
    inputs: list = []
    groups: list[list[int]] = []
    for name, type_text in params:
        if not type_text.startswith("Tensor"):
            continue
        value = given.get(name)
        listed = "[]" in type_text
        alike: dict[Any, list[int]] = {}
        for item in (value or []) if listed else [value]:
            item = item if isinstance(item, tw.Tensor) else None
            alike.setdefault(item.ndim if item is not None else None, []).append(len(inputs))
            inputs.append(item)
        groups += alike.values()
    return inputs, groups
