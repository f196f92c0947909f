"""What a plan does and where its bytes lie, for people: launches in order, buffers with their lifetimes, live bytes.

Everything here is derived from the plan itself, which says what runs when and where each value lies:

1. *launches*: those of one step in the order of their begin, by simulation with a time for each from its op's cost;
2. *buffers*: values that share memory, as views and as results that take over an input's memory, are one buffer, in
   use from the first launch that touches it to the last;
3. *live bytes*: for each launch, the sum over the buffers in use.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from thalweg._core import _native
from thalweg.jit.plan_page import render

__all__ = ["Buffer", "Launch", "Plan", "format_bytes"]

# Times are estimates on a nominal core; their ratios are what matters.
FLOPS_PER_SECOND = 50e9
BYTES_PER_SECOND = 10e9
LAUNCH_SECONDS = 50e-9


class Launch(NamedTuple):
    """A kernel call of a step. `seconds` and `begin` are estimates; `output_bytes` counts what it makes."""

    op: str
    module: str
    origin: str
    result: str
    stream: int
    begin: float
    seconds: float
    flops: float
    moved_bytes: float
    output_bytes: int


class Buffer(NamedTuple):
    """Memory of an arena, in use from launch `first` to launch `last`, both included. Made by launch `maker`."""

    offset_bytes: int
    size_bytes: int
    first: int
    last: int
    maker: int


class Plan:
    """The plan of a compiled function or of a graph.

    Attributes: `launches`, a list of Launch in the order of a step; `buffers`, a list of Buffer; `arena_bytes`, the
    memory that the plan allocates; `lower_bound_bytes`, the most bytes that are live at once, below which no arena
    can be; `variable_bytes`, what each module's variables take, counted for the module that reads them first.
    """

    def __init__(self, plan: Any, costs: list) -> None:
        self._plan = plan
        self._values, self._segments, strings = plan.values, plan.segments, plan.strings
        self.name: str = plan.name
        self.lower_bound_bytes: int = plan.lower_bound_bytes
        self._bases = self._stack_arenas()
        self.launches: list[Launch] = []
        self._calls: list[tuple[int, int, Any]] = []  # (actor, phase, native launch) of each
        actors = [(actor, actor.launches) for actor in plan.actors]
        estimates = [[self._estimate(launch, costs) for launch in launches] for _, launches in actors]
        begins = []
        for number, phase, begin in plan.simulate_step([[one[0] for one in times] for times in estimates]):
            actor, launches = actors[number]
            for launch, estimate in zip(launches, estimates[number]):
                if launch.runs_in(phase, actor.rate):
                    begins.append((begin, number, phase, actor.stream, launch, estimate))
                    begin += estimate[0]
        begins.sort(key=lambda entry: entry[0])
        for begin, number, phase, stream, launch, (seconds, flops, moved) in begins:
            made = [v for v in (*launch.outputs, *launch.becomes) if v >= 0]
            result = ", ".join(self._values[v].type for v in made)
            size = sum(self._values[v].size_bytes for v in made)
            module, origin = strings[launch.module], strings[launch.origin]
            self.launches.append(Launch(launch.op, module, origin, result, stream, begin, seconds, flops, moved, size))
            self._calls.append((number, phase, launch))
        self.buffers = self._find_buffers()
        self.variable_bytes = self._variables_by_module()

    @classmethod
    def of_graph(cls, graph: Any) -> Plan:
        """The plan of a graph, which gets its values numbered."""
        return cls(graph.plan(), graph.node_costs())

    @classmethod
    def of_step(cls, step: Any) -> Plan:
        """The plan of a program of a compiled function."""
        return cls(step.plan(), step.node_costs())

    @property
    def text(self) -> str:
        """The plan in its text form."""
        return str(self._plan)

    @property
    def arena_bytes(self) -> int:
        return self.segment_bytes("arena")

    @property
    def streams(self) -> list[str]:
        """What each stream is, and on which device."""
        return [f"{stream.kind} on {self._plan.devices[stream.device]}" for stream in self._plan.streams]

    def segment_bytes(self, kind: str) -> int:
        """The bytes of all segments of a kind: arena, input, variable, constant or output."""
        return sum(segment.size_bytes for segment in self._segments if segment.kind == kind)

    def segment_count(self, kind: str) -> int:
        return sum(segment.kind == kind for segment in self._segments)

    def memory(self) -> list[tuple[int, int]]:
        """(step, live bytes) for each launch: what the arena has to hold while it runs."""
        change = [0] * (len(self.launches) + 1)
        for buffer in self.buffers:
            change[buffer.first] += buffer.size_bytes
            change[buffer.last + 1] -= buffer.size_bytes
        return list(enumerate(itertools.accumulate(change[:-1])))

    def html(self, path: str | Path) -> None:
        """Writes a page that shows the plan; it needs nothing but a browser."""
        Path(path).write_text(render(self), encoding="utf-8")

    def __repr__(self) -> str:
        lines = [
            f"Plan {self.name!r}: {_counted(len(self.launches), 'launch')} on {_counted(len(self.streams), 'stream')}",
            f"  arena {format_bytes(self.arena_bytes)}, lower bound {format_bytes(self.lower_bound_bytes)}",
        ]
        for kind in ("variable", "constant", "input", "output"):
            if count := self.segment_count(kind):
                lines.append(f"  {_counted(count, kind)}, {format_bytes(self.segment_bytes(kind))}")
        groups: dict[str, list[Launch]] = defaultdict(list)
        for launch in self.launches:
            groups[launch.op].append(launch)
        whole = sum(launch.seconds for launch in self.launches) or 1.0
        shares = {op: sum(launch.seconds for launch in group) / whole for op, group in groups.items()}
        for op in sorted(shares, key=lambda op: -shares[op])[:8]:
            lines.append(f"  {op:24} {_counted(len(groups[op]), 'launch'):>14} {shares[op]:6.1%} of the estimated time")
        return "\n".join(lines)

    # ---- derivation

    def _stack_arenas(self) -> dict[int, int]:
        """Where each arena begins when all are laid one after the other."""
        bases, at = {}, 0
        for number, segment in enumerate(self._segments):
            if segment.kind == "arena":
                bases[number] = at
                at += segment.size_bytes
        return bases

    def _estimate(self, launch: Any, costs: list) -> tuple[float, float, float]:
        """Seconds, operations and bytes moved of a launch; one that no node stands behind copies."""
        if launch.node >= 0:
            flops, moved = costs[launch.node].flops, costs[launch.node].bytes
        else:
            flops, moved = 0.0, 2.0 * sum(self._values[v].size_bytes for v in launch.outputs if v >= 0)
        return LAUNCH_SECONDS + max(flops / FLOPS_PER_SECOND, moved / BYTES_PER_SECOND), flops, moved

    def _find_buffers(self) -> list[Buffer]:
        group = _Groups(len(self._values))
        for number, value in enumerate(self._values):
            if value.storage >= 0:
                group.join(number, value.storage)
        for actor in self._plan.actors:
            for launch in actor.launches:
                for position, after in zip(launch.mutated, launch.becomes):
                    if after >= 0:
                        group.join(launch.inputs[position], after)
                for output, position in zip(launch.outputs, launch.in_place):
                    if position >= 0 and output >= 0:
                        group.join(launch.inputs[position], output)
        extent: dict[int, tuple[int, int]] = {}
        for number, value in enumerate(self._values):
            if value.segment in self._bases:
                begin = self._bases[value.segment] + value.offset_bytes
                old = extent.get(group.of(number), (begin, begin))
                extent[group.of(number)] = (min(old[0], begin), max(old[1], begin + value.span_bytes))
        buffers = []
        for root, first, last in self._lifetimes(group, extent):
            begin, end = extent[root]
            if end > begin:
                buffers.append(Buffer(begin, _aligned(end - begin), first, last, first))
        last = len(self.launches) - 1
        for register in self._plan.registers:  # slots are theirs for the whole step
            for slot in range(register.slots if register.segment in self._bases else 0):
                offset = self._bases[register.segment] + register.offset_bytes + slot * register.slot_bytes
                buffers.append(Buffer(offset, register.slot_bytes, 0, last, -1))
        return buffers

    def _lifetimes(self, group: _Groups, extent: dict) -> list[tuple[int, int, int]]:
        """(buffer, first launch, last launch); one for each firing where a single actor uses the buffer."""
        uses: dict[int, list[tuple[int, int, int]]] = {root: [] for root in extent}
        for step, (actor, phase, launch) in enumerate(self._calls):
            touched = {group.of(v) for v in itertools.chain(launch.inputs, launch.outputs) if v >= 0}
            for root in touched & uses.keys():
                uses[root].append((step, actor, phase))
        lifetimes = []
        for root, entries in uses.items():
            alone = len({actor for _, actor, _ in entries}) == 1
            spans: dict[int, list[int]] = {}
            for step, _, phase in entries:
                spans.setdefault(phase if alone else 0, []).append(step)
            lifetimes += [(root, steps[0], steps[-1]) for steps in spans.values()]
        return sorted(lifetimes, key=lambda entry: entry[1:])

    def _variables_by_module(self) -> dict[str, int]:
        readers: dict[int, str] = {}
        for launch, (_, _, call) in zip(self.launches, self._calls):
            for v in itertools.chain(call.inputs, call.outputs):
                if v >= 0 and (segment := self._values[v].segment) >= 0 and self._segments[segment].kind == "variable":
                    readers.setdefault(segment, launch.module)
        sizes: dict[str, int] = defaultdict(int)
        for number, segment in enumerate(self._segments):
            if segment.kind == "variable":
                sizes[readers.get(number, "")] += segment.size_bytes
        return dict(sizes)


class _Groups:
    """Sets of numbers that are joined two by two."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def of(self, number: int) -> int:
        """The number that stands for its set: the smallest."""
        root = number
        while self._above[root] != root:
            root = self._above[root]
        while self._above[number] != root:  # short ways for the next one
            self._above[number], number = root, self._above[number]
        return root

    def join(self, a: int, b: int) -> None:
        a, b = self.of(a), self.of(b)
        self._above[max(a, b)] = min(a, b)


def _aligned(size: int) -> int:
    alignment = _native.Plan.ALIGNMENT
    return (size + alignment - 1) // alignment * alignment


def _counted(number: int, noun: str) -> str:
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def format_bytes(size: float) -> str:
    """A size with a binary unit: 1.50 MiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:,.0f} bytes" if unit == "bytes" else f"{size:,.2f} {unit}"
