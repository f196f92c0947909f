"""How tensors are cut among virtual devices and put together again.

A layout is ("B",), ("S", dim, unit) or ("P", reduction); a tensor has one for every axis of the mesh, the second axis
cuts what the first left. An axis has a number of devices and a way to cut that all splits on it share: dims of other
sizes and units are cut at the same fractions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import thalweg as tw
from tolerance import assert_close, to_array

Layout = tuple
COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class Part(NamedTuple):
    """What a device holds of a tensor, and where that begins in the whole."""

    tensor: tw.Tensor | None
    first: list[int]


@dataclass(frozen=True)
class Axis:
    """Devices in a row: `even` ones get as many units each as can be, `lopsided` all but the last only one, of those
    with a `hole` the first gets nothing."""

    devices: int
    way: str = "even"

    def units(self, count: int) -> list[int]:
        """How many of so many units each device gets."""
        if self.way == "lopsided":
            ones = [int(i < count) for i in range(self.devices - 1)]
            return [*ones, count - sum(ones)]
        if self.way == "hole":
            return [0, *Axis(self.devices - 1).units(count)]
        base, extra = divmod(count, self.devices)
        return [base + (i < extra) for i in range(self.devices)]

    def cuts(self, size: int, unit: int) -> list[tuple[int, int]]:
        """(first, size) of each device; what is left of a last unit counts as one."""
        result, first = [], 0
        for units in self.units(-(-size // unit)):
            length = min(units * unit, size - first)
            result.append((first, length))
            first += length
        return result


Mesh = tuple[Axis, ...]


def unit_counts(shapes: Sequence, layouts: Sequence[Layout]) -> set[int]:
    """Of how many units the dims are that these layouts split: one number, where all can be cut alike."""
    return {
        -(-shape[layout[1]] // layout[2]) for shape, layout in zip(shapes, layouts, strict=False) if layout[0] == "S"
    }


def boxes(shape: Sequence[int], layouts: Sequence[Layout], mesh: Mesh) -> list[tuple[list[int], list[int]]]:
    """(first, sizes) of what each device holds of a tensor of this shape."""
    found = [([0] * len(shape), list(shape))]
    for layout, axis in zip(layouts, mesh, strict=True):
        found = [cut for first, sizes in found for cut in _cut_box(first, sizes, layout, axis)]
    return found


def _cut_box(first: list[int], sizes: list[int], layout: Layout, axis: Axis) -> list[tuple[list[int], list[int]]]:
    if layout[0] != "S":
        return [(first, sizes)] * axis.devices
    _, dim, unit = layout
    result = []
    for offset, length in axis.cuts(sizes[dim], unit):
        begin, size = first.copy(), sizes.copy()
        begin[dim] += offset
        size[dim] = length
        result.append((begin, size))
    return result


def spread(tensor: tw.Tensor | None, layouts: Sequence[Layout], mesh: Mesh, rng: np.random.Generator) -> list[Part]:
    """The parts of all devices, in the order of their ranks. `rng` says which device has what of a pending
    reduction: tensors that share a generator are unlike in that, or rules for several pending ones would look sound."""
    count = int(np.prod([axis.devices for axis in mesh]))
    if tensor is None:
        return [Part(None, [])] * count
    pieces = [tensor]
    for layout, axis in zip(layouts, mesh, strict=True):
        pieces = [part for piece in pieces for part in cut_parts(piece, layout, axis, rng)]
    places = boxes(tensor.shape, layouts, mesh)
    return [Part(piece, first) for piece, (first, _) in zip(pieces, places, strict=True)]


def cut_parts(tensor: tw.Tensor, layout: Layout, axis: Axis, rng: np.random.Generator) -> list[tw.Tensor]:
    """What each device of one axis holds."""
    if layout[0] == "B":
        return [tensor.clone() for _ in range(axis.devices)]
    if layout[0] == "S":
        return [tensor.narrow(layout[1], a, n).clone() for a, n in axis.cuts(tensor.shape[layout[1]], layout[2])]
    whole = to_array(tensor)
    if layout[1] == "sum":
        parts = [_noise(rng, whole) for _ in range(axis.devices - 1)]
        if tensor.dtype in (tw.float16, tw.bfloat16):
            parts = [np.round(part) for part in parts]  # they hold these, and what these leave of whole numbers
        parts.append(whole - sum(parts))
    else:  # one device has the value, the others something that loses
        holder = rng.integers(0, axis.devices, whole.shape)
        parts = [np.where(holder == d, whole, _losing(rng, whole, layout[1])) for d in range(axis.devices)]
    return [tw.tensor(np.asarray(p, dtype=whole.dtype)).to(tensor.dtype) for p in parts]


def _noise(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    if like.dtype.kind in "iu":
        most = int(abs(like.astype(np.int64)).max(initial=0))  # as many digits as the numbers themselves have
        return rng.integers(1, max(9, min(most, np.iinfo(like.dtype).max)), like.shape)
    noise = rng.uniform(0.5, 3, like.shape) * rng.choice([-1, 1], like.shape)
    return noise + 1j * rng.uniform(-3, 3, like.shape) if like.dtype.kind == "c" else noise


def _losing(rng: np.random.Generator, whole: np.ndarray, reduction: str) -> np.ndarray:
    if whole.dtype.kind == "b":
        chance = rng.integers(0, 2, whole.shape).astype(bool)
        return whole & chance if reduction == "max" else whole | chance
    noise, neutral = abs(_noise(rng, whole)).astype(whole.dtype), _neutral(whole.dtype, reduction)
    loses = whole - noise if reduction == "max" else whole + noise
    wrapped = loses > whole if reduction == "max" else loses < whole  # of integers
    every_fourth = np.arange(whole.size).reshape(whole.shape) % 4 == 3  # few hold by chance what others show
    return np.where(wrapped | every_fourth, neutral, loses)


def _neutral(dtype: np.dtype, reduction: str) -> Any:
    """What loses against everything: devices that hold no part of an extreme hold this."""
    if dtype.kind == "f":
        return -np.inf if reduction == "max" else np.inf
    return np.iinfo(dtype).min if reduction == "max" else np.iinfo(dtype).max


def join(pieces: list[tw.Tensor], layouts: Sequence[Layout], mesh: Mesh) -> tw.Tensor:
    """The tensor that the parts of all devices stand for."""
    for layout, axis in zip(reversed(layouts), reversed(mesh), strict=True):
        rows = [pieces[i : i + axis.devices] for i in range(0, len(pieces), axis.devices)]
        pieces = [_join(row, layout) for row in rows]
    return pieces[0]


def _join(pieces: list[tw.Tensor], layout: Layout) -> tw.Tensor:
    if layout[0] == "S":
        return tw.cat(pieces, layout[1])
    if layout[0] == "B":
        for piece in pieces[1:]:
            assert_close(piece, to_array(pieces[0]), "float64", "what all devices hold")
        return pieces[0]
    total = to_array(pieces[0])
    for piece in pieces[1:]:
        total = COMBINE[layout[1]](total, to_array(piece))
    return tw.tensor(total)


def gradient_layout(layout: Layout) -> Layout:
    """The layout of a gradient: what is split has one split alike, to what every device holds (B) each gives a share,
    and of a sum of parts (P(sum)) every part has the whole gradient."""
    return {"S": layout, "B": ("P", "sum"), "P": ("B",)}[layout[0]]
