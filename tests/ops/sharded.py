"""Every SBP signature of an op, run part by part on virtual devices, forward and backward, against the whole.

A signature's gradients follow from its layouts: what is split has a gradient split alike, what every device holds
(B) gets a share of its gradient from each (P(sum)), and of a sum of parts (P(sum)) every part has the whole gradient.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import thalweg as tw
from tolerance import assert_close, to_array

DEVICES = (2, 3)


def check_signatures(function: Callable, args: list, kwargs: dict, grad: bool) -> None:
    """Each signature of a registered op on 2 and 3 devices; with `grad` its gradients too."""
    if not hasattr(function, "signatures"):
        return
    try:
        signatures = function.signatures(*args, **kwargs)
    except ValueError:  # a composite
        return

    def call(inputs: list, sizes: list) -> list:
        result = function.on_shard(inputs, sizes, *args, **kwargs)
        return [result] if isinstance(result, tw.Tensor) else list(result)

    inputs = _inputs(function, args, kwargs)
    whole = call(inputs, [list(t.shape) for t in _listed(function(*args, **kwargs))])
    for layouts_in, layouts_out in signatures:
        for devices in DEVICES:
            what = f"signature {layouts_in} -> {layouts_out} on {devices} devices"
            sizes = [shard_sizes(w.shape, layout, devices) for w, layout in zip(whole, layouts_out, strict=False)]
            _check_forward(call, inputs, layouts_in, whole, layouts_out, sizes, what)
            if grad and not any(layout in (("P", "max"), ("P", "min")) for layout in layouts_in + layouts_out):
                _check_backward(call, inputs, layouts_in, whole, layouts_out, sizes, what)


def _listed(result: Any) -> list:
    return [result] if isinstance(result, tw.Tensor) else list(result)


def _inputs(function: Callable, args: list, kwargs: dict) -> list:
    """The tensors of a call in the schema's order, lists flattened; None where one is absent or a number."""
    params = next(info["params"] for info in tw._core._native.registry() if info["name"] == function.__name__)
    given = dict(zip((name for name, _ in params), args, strict=False)) | kwargs
    inputs: list = []
    for name, type_text in params:
        if not type_text.startswith("Tensor"):
            continue
        value = given.get(name)
        if "[]" in type_text:
            inputs.extend(value or [])
        else:
            inputs.append(value if isinstance(value, tw.Tensor) else None)
    return inputs


def _spread(tensors: list, layouts: Sequence[tuple], devices: int) -> list[list]:
    """For every device its parts of the tensors."""
    parts = [
        [None] * devices if t is None else shards(t, layout, devices)
        for t, layout in zip(tensors, layouts, strict=True)
    ]
    return [[part[d] for part in parts] for d in range(devices)]


def _check_forward(
    call: Callable, inputs: list, layouts_in: list, whole: list, layouts_out: list, sizes: list, what: str
) -> None:
    devices = len(sizes[0])
    results = [call(part, [size[d] for size in sizes]) for d, part in enumerate(_spread(inputs, layouts_in, devices))]
    for i, (expected, layout) in enumerate(zip(whole, layouts_out, strict=False)):
        for d, result in enumerate(results):
            assert list(result[i].shape) == sizes[i][d], f"{what}: shape on device {d}"
        assert_close(join([result[i] for result in results], layout), expected, "float32", what)


def _gradients(call: Callable, inputs: list, sizes: list, weights: Callable[[int], tw.Tensor]) -> list:
    """Of the outputs, each weighted by weights(its number), by every floating input; None where there is none."""
    leaves = [t.detach().clone().requires_grad_() if _is_float(t) else t for t in inputs]
    outputs = [(i, t) for i, t in enumerate(call(leaves, sizes)) if t.requires_grad]
    wanted = [t for t in leaves if _is_float(t)]
    if not outputs or not wanted:
        return [None] * len(inputs)
    cotangents = [weights(i).to(t.dtype) for i, t in outputs]
    found = iter(tw.autograd.grad([t for _, t in outputs], wanted, cotangents, allow_unused=True))
    gradients = [next(found) if _is_float(t) else None for t in leaves]
    return [tw.zeros_like(t) if g is None and _is_float(t) else g for g, t in zip(gradients, leaves, strict=True)]


def _is_float(t: Any) -> bool:
    return isinstance(t, tw.Tensor) and t.dtype.is_floating_point


def _check_backward(
    call: Callable, inputs: list, layouts_in: list, whole: list, layouts_out: list, sizes: list, what: str
) -> None:
    devices = len(sizes[0])
    rng = np.random.default_rng(2)
    shapes = [list(t.shape) for t in whole]
    whole_weights = [tw.tensor(rng.uniform(-1, 1, shape)) for shape in shapes]
    expected = _gradients(call, inputs, shapes, lambda i: whole_weights[i])
    if all(g is None for g in expected):
        return
    weights = _spread(whole_weights, [gradient_layout(layout) for layout in layouts_out[: len(shapes)]], devices)
    found = [
        _gradients(call, part, [size[d] for size in sizes], lambda i, d=d: weights[d][i])
        for d, part in enumerate(_spread(inputs, layouts_in, devices))
    ]
    for i, (want, layout) in enumerate(zip(expected, layouts_in, strict=True)):
        if want is not None:
            joined = join([gradients[i] for gradients in found], gradient_layout(layout))
            assert_close(joined, want, "float32", f"{what}: gradient of input {i}")


def gradient_layout(layout: tuple) -> tuple:
    """The layout of a gradient."""
    return {"S": layout, "B": ("P", "sum"), "P": ("B",)}[layout[0]]


def shard_sizes(shape: Sequence[int], layout: tuple, devices: int) -> list[list[int]]:
    """The sizes that each device holds of a tensor laid out this way."""
    sizes = [list(shape) for _ in range(devices)]
    if layout[0] == "S":
        cuts = cut_points(shape[layout[1]], devices, layout[2])
        for d in range(devices):
            sizes[d][layout[1]] = cuts[d + 1] - cuts[d]
    return sizes


def cut_points(size: int, devices: int, unit: int) -> list[int]:
    """Balanced cuts at multiples of `unit`; the first devices get one more."""
    units = size // unit
    base, extra = divmod(units, devices)
    cuts = [0]
    for d in range(devices):
        cuts.append(cuts[-1] + (base + (d < extra)) * unit)
    return cuts


def shards(t: tw.Tensor, layout: tuple, devices: int) -> list[tw.Tensor]:
    """What each device holds of a tensor laid out this way."""
    if layout[0] == "B":
        return [t.clone() for _ in range(devices)]
    if layout[0] == "S":
        _, dim, unit = layout
        cuts = cut_points(t.shape[dim], devices, unit)
        return [t.narrow(dim, a, b - a).clone() for a, b in zip(cuts, cuts[1:], strict=False)]
    rng = np.random.default_rng(1)
    whole = t.detach().numpy()
    if layout[1] == "sum":
        parts = [rng.uniform(-1, 1, whole.shape) for _ in range(devices - 1)]
        parts.append(whole - sum(parts))
    else:  # one device has the value, the others something that loses
        sign = -1.0 if layout[1] == "max" else 1.0
        holder = rng.integers(0, devices, whole.shape)
        parts = [np.where(holder == d, whole, whole + sign * rng.uniform(0, 2, whole.shape)) for d in range(devices)]
    return [tw.tensor(np.asarray(p, dtype=whole.dtype)) for p in parts]


def join(pieces: list[tw.Tensor], layout: tuple) -> tw.Tensor:
    """The logical tensor that shards of this layout stand for."""
    if layout[0] == "S":
        return tw.cat(pieces, layout[1])
    if layout[0] == "B":
        for piece in pieces[1:]:
            np.testing.assert_array_equal(to_array(piece), to_array(pieces[0]))
        return pieces[0]
    combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[layout[1]]
    total = to_array(pieces[0])
    for piece in pieces[1:]:
        total = combine(total, to_array(piece))
    return tw.tensor(total)
