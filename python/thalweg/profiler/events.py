"""Events of a profile, and their sums by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["EventAverage", "EventList", "ProfileEvent", "nest"]


@dataclass
class ProfileEvent:
    """Something that ran on a thread. Times are in microseconds, `start` since the profile began.

    `kind` is "op" (a kernel of eager code), "launch" (one of a static program), "actor" (a firing: a run of a chain of
    launches), "module" (a call of a module), "step" or "annotation". `self_time` leaves out what ran inside it on the
    same thread. `bytes` counts what the tensors hold that it read and wrote.
    """

    name: str
    kind: str
    module: str
    origin: str
    program: str
    stream: str
    shapes: str
    bytes: int
    thread: int
    start: float
    duration: float
    self_time: float = 0.0
    parent: ProfileEvent | None = None

    @property
    def end(self) -> float:
        return self.start + self.duration


def nest(events: Iterable[ProfileEvent]) -> list[ProfileEvent]:
    """The events in the order of their begin, each with its parent and its time without what is inside it."""
    ordered = sorted(events, key=lambda event: (event.thread, event.start, -event.duration))
    open_: list[ProfileEvent] = []
    for event in ordered:
        while open_ and (open_[-1].thread != event.thread or open_[-1].end < event.end):
            open_.pop()
        event.self_time = event.duration
        if open_:
            event.parent = open_[-1]
            open_[-1].self_time -= event.duration
        open_.append(event)
    return sorted(ordered, key=lambda event: event.start)


@dataclass
class EventAverage:
    """Events of one name; times in microseconds."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    bytes: int = 0
    input_shapes: str = ""

    @property
    def cpu_time(self) -> float:
        """The mean of a call."""
        return self.cpu_time_total / self.count


_SORTED_BY = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "bytes")


class EventList(list):
    """A list of EventAverage."""

    def table(
        self, sort_by: str | None = "self_cpu_time_total", row_limit: int = 100, header: str | None = None
    ) -> str:
        """The sums as a text table.

        Args:
            sort_by: "cpu_time", "cpu_time_total", "self_cpu_time_total", "count" or "bytes", the largest first; None
                keeps the order of the first calls.
            row_limit: at most so many rows; -1 for all.
            header: a line above the table.

        Raises: ValueError for another `sort_by`.
        """
        if sort_by is not None and sort_by not in _SORTED_BY:
            raise ValueError(f"table: sort_by is one of {', '.join(_SORTED_BY)} or None, got {sort_by!r}")
        rows = sorted(self, key=lambda one: -getattr(one, sort_by)) if sort_by else list(self)
        shapes = any(one.input_shapes for one in rows)
        whole = sum(one.self_cpu_time_total for one in self) or 1.0
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls", "Bytes"]
        cells = [
            [
                one.key,
                f"{one.self_cpu_time_total / whole:.2%}",
                format_time(one.self_cpu_time_total),
                f"{one.cpu_time_total / whole:.2%}",
                format_time(one.cpu_time_total),
                format_time(one.cpu_time),
                f"{one.count:,}",
                f"{one.bytes:,}",
                *([one.input_shapes] if shapes else []),
            ]
            for one in (rows if row_limit < 0 else rows[:row_limit])
        ]
        text = _aligned([titles + (["Input shapes"] if shapes else []), *cells])
        total = format_time(sum(one.self_cpu_time_total for one in self))
        return "\n".join([*([header] if header else []), text, f"Self CPU time total: {total}"])

    def __str__(self) -> str:
        return self.table()


def averages(events: Iterable[ProfileEvent], by_shapes: bool = False) -> EventList:
    """Sums of events by name, in the order of the first of each."""
    found: dict[Any, EventAverage] = {}
    for event in events:
        shapes = event.shapes if by_shapes else ""
        one = found.setdefault((event.name, shapes), EventAverage(event.name, input_shapes=shapes))
        one.count += 1
        one.cpu_time_total += event.duration
        one.self_cpu_time_total += event.self_time
        one.bytes += event.bytes
    return EventList(found.values())


def format_time(microseconds: float) -> str:
    """12.300us, 4.560ms, 7.890s."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    line = "  ".join("-" * width for width in widths)
    texts = [
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths)) for row in rows)
    ]
    return "\n".join([line, texts[0], line, *texts[1:], line])
