"""Signatures on one axis that are sound for a call but that the op does not offer.

Found by trying them: every input in every layout, on two devices that cut evenly, unevenly or with nothing on one of
them, for several values of the same shapes. What the devices' results are of the whole result (all of it, a part, terms
of it) says in which layouts the outputs may be. Left out: what asks for more than an offered signature does, such as
coarser units, and what can be had for nothing, as a part of an output that every device has whole.

Inputs that one parameter takes as a list lie alike, and all pending inputs wait for one reduction.
"""

import itertools
from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any, NamedTuple

import numpy as np
import thalweg as tw
from parts import COMBINE, Axis, Layout, boxes, cut_parts
from tolerance import to_array

Signature = tuple[tuple[Layout, ...], tuple[Layout, ...]]
AXES = (Axis(2), Axis(2, "lopsided"), Axis(2, "hole"))
TOLERANCE = 1e-9
BROADCAST: Layout = ("B",)


def signature_text(signature: Signature) -> str:
    """As in "S(0) P(sum) -> S(0)"."""
    return " -> ".join(" ".join(_layout_text(layout) for layout in side) for side in signature)


def _layout_text(layout: Layout) -> str:
    if layout[0] == "S":
        return f"S({layout[1]})" if layout[2] == 1 else f"S({layout[1]}, unit={layout[2]})"
    return "B" if layout[0] == "B" else f"P({layout[1]})"


class Trial(NamedTuple):
    """Values of the inputs, what the op gives for them, and how an axis cuts."""

    inputs: list
    outputs: list[np.ndarray]
    axis: Axis
    parts: dict  # of inputs, by number and layout


class Search:
    """The signatures of a call (see sharded.py) that are sound but not offered."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.offered = [(tuple(ins), tuple(outs)) for ins, outs in call.signatures]
        self.trials = list(self._trials())

    def _trials(self) -> Iterator[Trial]:
        for seed, axis in enumerate(AXES):
            rng = np.random.default_rng(seed)
            inputs, outputs = self._other_values(rng, seed == 1) if seed else (self.call.inputs, self.call.outputs)
            yield Trial(inputs, [to_array(t) for t in outputs], axis, {})

    def _other_values(self, rng: np.random.Generator, wide: bool) -> tuple[list, list]:
        """Numbers of either sign, or of the call's range; the call's own where the op takes no others."""
        for span in (3.0, None) if wide else (None,):
            inputs = [_redrawn(rng, t, span) for t in self.call.inputs]
            try:
                return inputs, self.call.run(inputs)
            except (IndexError, RuntimeError, ValueError):
                continue
        return self.call.inputs, self.call.outputs

    def combinations(self) -> int:
        """How many layouts of the inputs there are to try."""
        return int(np.prod([len(options) for options in self._options()]))

    def missing(self) -> list[Signature]:
        found: list[Signature] = []
        if any(0 in t.shape for t in [*self.call.inputs, *self.call.outputs] if t is not None):
            return found  # of nothing everything holds
        for kinds in self._input_kinds():
            for count in self._counts(kinds):
                ins = tuple(_in_units(k, t, count) for k, t in zip(kinds, self.call.inputs, strict=True))
                for sound in self._sound(ins, count):
                    if not any(_asks_no_more(known, sound) for known in [*self.offered, *found]):
                        found.append(sound)
        return found

    def _options(self) -> list[list[Layout]]:
        """The layouts of each input, or of each list of inputs: dims as ("S", dim)."""
        return [_layouts_of(self.call.inputs[group[0]]) for group in self.call.groups]

    def _input_kinds(self) -> Iterator[list[Layout]]:
        for chosen in itertools.product(*self._options()):
            if len({layout[1] for layout in chosen if layout[0] == "P"}) > 1:
                continue
            kinds = [BROADCAST] * len(self.call.inputs)
            for layout, group in zip(chosen, self.call.groups, strict=True):
                for i in group:
                    kinds[i] = layout
            yield kinds

    def _counts(self, kinds: Sequence[Layout]) -> list[int]:
        """Of how many units the dims may be that are cut together, the finest first."""
        split = [t.shape[k[1]] for k, t in zip(kinds, self.call.inputs, strict=True) if k[0] == "S"]
        most = gcd(*split) if split else 0
        sizes = {size for shape in self.call.shapes for size in shape}
        counts = {gcd(most, size) for size in sizes} | {most}
        return sorted((c for c in counts if c > 1), reverse=True) if most or self.call.localized else [0]

    def _sound(self, ins: tuple[Layout, ...], count: int) -> Iterator[Signature]:
        all_outs = [[BROADCAST, *_splits(shape, count)] for shape in self.call.shapes]
        for places in itertools.product(*all_outs) if self.call.localized else [None]:
            if all(layout == BROADCAST for layout in [*ins, *(places or [])]):
                continue
            sets: list[set[Layout]] | None = None
            for trial in self.trials:
                now = self._outputs_of(trial, ins, places, count)
                sets = now if sets is None else [a & b for a, b in zip(sets, now, strict=True)]
                if not all(sets):
                    break
            for outs in itertools.product(*(_worth_it(layouts) for layouts in sets or [])):
                if all(sets or [()]) and (places is None or _same_splits(places, outs)):
                    yield ins, outs

    def _outputs_of(self, trial: Trial, ins: tuple, places: tuple | None, count: int) -> list[set[Layout]]:
        """In which layouts every output is, where the inputs lie so and outputs are made at `places`."""
        results = []
        for device in range(trial.axis.devices):
            parts = [self._part(trial, i, layout, device) for i, layout in enumerate(ins)]
            cut = [
                boxes(shape, [layout], (trial.axis,))[device]
                for shape, layout in zip(self.call.shapes, places or [BROADCAST] * len(self.call.shapes), strict=True)
            ]
            try:
                made = self.call.run(
                    [t for t, _ in parts], [first for _, first in parts], [size for _, size in cut], [f for f, _ in cut]
                )
            except (IndexError, RuntimeError, ValueError, TypeError, NotImplementedError):
                return [set() for _ in self.call.shapes]
            results.append([to_array(t) for t in made])
        return [_layouts_in([r[i] for r in results], whole, trial.axis, count) for i, whole in enumerate(trial.outputs)]

    def _part(self, trial: Trial, i: int, layout: Layout, device: int) -> tuple[tw.Tensor | None, list[int]]:
        known = trial.parts.get((i, layout))
        if known is None:
            tensor = trial.inputs[i]
            if tensor is None:
                known = [(None, [])] * trial.axis.devices
            else:
                rng = np.random.default_rng([i, len(trial.parts)])
                places = boxes(tensor.shape, [layout], (trial.axis,))
                cuts = cut_parts(tensor, layout, trial.axis, rng)
                known = [(t, first) for t, (first, _) in zip(cuts, places, strict=True)]
            trial.parts[i, layout] = known
        return known[device]


def _redrawn(rng: np.random.Generator, tensor: tw.Tensor | None, span: float | None) -> tw.Tensor | None:
    """Other values: floats in [-span, span), others (and floats without a span) between the least and the greatest."""
    if tensor is None or tensor.numel() == 0:
        return tensor
    whole = to_array(tensor)
    if tensor.dtype is tw.bool:
        return tw.tensor(rng.integers(0, 2, whole.shape).astype(bool))
    if whole.dtype.kind in "iu":
        return tw.tensor(rng.integers(whole.min(), whole.max() + 1, whole.shape).astype(whole.dtype))
    if whole.dtype.kind == "c":
        return tw.tensor((rng.uniform(-2, 2, whole.shape) + 1j * rng.uniform(-2, 2, whole.shape)).astype(whole.dtype))
    low, high = (whole.min(), whole.max()) if span is None else (-span, span)
    if not np.isfinite([low, high]).all():
        return tensor
    if low == high:
        low, high = low - abs(low) / 2, high + abs(high) / 2
    return tw.tensor(rng.uniform(low, high, whole.shape).astype(whole.dtype)).to(tensor.dtype)


def _layouts_of(tensor: tw.Tensor | None) -> list[Layout]:
    if tensor is None:
        return [BROADCAST]
    kinds = ["max", "min"] if tensor.dtype is tw.bool else ["sum"] if tensor.dtype.is_complex else list(COMBINE)
    splits: list[Layout] = [("S", dim) for dim, size in enumerate(tensor.shape) if size > 1]
    return [BROADCAST, *splits, *(("P", kind) for kind in kinds)]


def _in_units(layout: Layout, tensor: tw.Tensor | None, count: int) -> Layout:
    return ("S", layout[1], tensor.shape[layout[1]] // count) if layout[0] == "S" and tensor is not None else layout


def _splits(shape: Sequence[int], count: int) -> list[Layout]:
    return [("S", dim, size // count) for dim, size in enumerate(shape) if size > 1 and count and size % count == 0]


def _layouts_in(parts: list[np.ndarray], whole: np.ndarray, axis: Axis, count: int) -> set[Layout]:
    """What these parts may be of the whole."""
    found: set[Layout] = set()
    if any(part.dtype != whole.dtype for part in parts):
        return found
    if all(part.shape == whole.shape for part in parts):
        if all(_close(part, whole) for part in parts):
            found.add(BROADCAST)
        for name, combine in COMBINE.items():
            ordered = whole.dtype.kind != "c"
            if (ordered or name == "sum") and not (name == "sum" and whole.dtype.kind == "b"):
                with np.errstate(invalid="ignore"):  # infinities of either sign
                    combined = combine(*parts)
                if _close(combined, whole):
                    found.add(("P", name))
    for layout in _splits(whole.shape, count):
        cuts = axis.cuts(whole.shape[layout[1]], layout[2])
        wanted = [whole[(slice(None),) * layout[1] + (slice(first, first + size),)] for first, size in cuts]
        if all(part.shape == want.shape and _close(part, want) for part, want in zip(parts, wanted, strict=True)):
            found.add(layout)
    return found


def _close(got: np.ndarray, expected: np.ndarray) -> bool:
    if expected.dtype.kind not in "fc":
        return bool((got == expected).all())
    with np.errstate(invalid="ignore"):
        near = abs(got - expected) <= TOLERANCE * (1 + abs(expected))
    return bool((near | (got == expected) | (np.isnan(got) & np.isnan(expected))).all())


def _worth_it(layouts: set[Layout]) -> list[Layout]:
    """Whoever has the whole of an output has a pending maximum of it too."""
    return [BROADCAST] if BROADCAST in layouts else sorted(layouts, key=str)


def _same_splits(places: Sequence[Layout], outs: Sequence[Layout]) -> bool:
    return all(place == out or (place == BROADCAST and out[0] != "S") for place, out in zip(places, outs, strict=True))


def _asks_no_more(known: Signature, found: Signature) -> bool:
    """Whether `known` serves where `found` would: the same layouts, those of `found` in multiples of its units."""
    ratios = set()
    for a, b in zip([*known[0], *known[1]], [*found[0], *found[1]], strict=True):
        if a[:2] != b[:2]:
            return False
        if a[0] == "S":
            ratios.add(b[2] / a[2])
    return len(ratios) <= 1 and all(ratio == int(ratio) for ratio in ratios)
