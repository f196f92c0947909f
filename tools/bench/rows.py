"""What a row of the table is, and how it is measured."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from bench.frameworks import OURS, TORCH, Framework, NotOffered, missing_name
from bench.machine import Machine
from bench.measure import Contender, best_of, ratio_of, rounds_of, timed


@dataclass
class Context:
    """What a row is measured with."""

    sides: Mapping[str, Framework]
    machine: Machine
    threads: int

    def both(self, build: Callable[[Framework], Callable[[], Any]], tolerance: float | None = 1e-3) -> list[Contender]:
        """The contenders "thalweg" and "torch", from one piece of code; what they return must agree."""
        ours = self.ours(build)
        theirs = build(self.sides[TORCH])
        if tolerance is not None:
            check_same(self.sides[OURS], ours(), self.sides[TORCH], theirs(), tolerance)
        return [Contender(OURS, timed(ours)), Contender(TORCH, timed(theirs))]

    def ours(self, build: Callable[[Framework], Callable[[], Any]]) -> Callable[[], Any]:
        """Our call, run once; raises NotOffered where a name is missing."""
        try:
            call = build(self.sides[OURS])
            call()
        except Exception as error:
            if (missing := missing_name(error)) is None:
                raise
            raise NotOffered(missing) from error
        return call


def check_same(ours: Framework, mine: Any, torch: Framework, theirs: Any, tolerance: float) -> None:
    """Raises AssertionError unless both sides have computed the same."""
    if isinstance(mine, (tuple, list)):
        for a, b in zip(mine, theirs, strict=True):
            check_same(ours, a, torch, b, tolerance)
        return
    a, b = ours.numpy(mine).astype(np.float64), torch.numpy(theirs).astype(np.float64)
    if a.shape != b.shape:
        raise AssertionError(f"the sides disagree: shape {a.shape} and {b.shape}")
    difference = np.max(np.abs(a - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), 1e-30)
    if not difference <= tolerance:
        raise AssertionError(f"the sides disagree: {difference:.2g} of the largest number, {tolerance:g} is allowed")


@dataclass(frozen=True)
class Row:
    """A line of the table.

    `build` makes the contenders. The best of the peers counts: of `peers` where given, else of all but "thalweg" and
    the one that `floor_name` names. `target` is the largest ratio wanted. A floor is the contender `floor_name` times
    `floor_scale`, or what `floor` computes from the machine; `or_floor` is a ratio to it that serves as well, and with
    `floor_decides` the one that is wanted.
    """

    name: str
    target: float
    build: Callable[[Context], Sequence[Contender]]
    unit: str = "s"
    peers: tuple[str, ...] = ()
    floor: Callable[[Machine], float] | None = None
    floor_name: str | None = None
    floor_scale: float = 1.0
    or_floor: float | None = None
    floor_decides: bool = False
    floor_text: str = ""
    per_thread: bool = True  # measured once for each number of threads, else with the largest alone
    rounds: int = 1000  # at most; for rows whose samples hardly vary or cost much


@dataclass
class Result:
    """A measured row; numbers are None where the row could not be measured, and `note` says why."""

    name: str
    threads: int
    target: float
    unit: str
    ours: float | None = None
    peer: float | None = None
    peer_name: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    floor_text: str = ""
    floor_ratio: float | None = None
    met: bool | None = None
    note: str = ""
    all: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_row(row: Row, context: Context, rounds: int) -> Result:
    """Runs a row. A missing op or a disagreement becomes a note, not an exception."""
    result = Result(row.name, context.threads, row.target, row.unit, floor_text=row.floor_text)
    for side in context.sides.values():
        side.set_threads(context.threads)
    try:
        contenders = row.build(context)
    except NotOffered as missing:
        result.note = f"not offered: {missing}"
        return result
    except AssertionError as error:
        result.note = str(error)
        result.met = False
        return result
    samples = rounds_of(contenders, rounds)
    medians = {name: statistics.median(values) for name, values in samples.items()}
    peers = row.peers or [c.name for c in contenders if c.name not in (OURS, row.floor_name)]
    result.ours, result.all = medians[OURS], medians
    if peers:
        result.peer_name = best_of(samples, peers)
        result.peer = medians[result.peer_name]
        ratio = ratio_of(samples[OURS], samples[result.peer_name])
        result.ratio, result.low, result.high = ratio.median, ratio.low, ratio.high
    if row.floor_name:
        result.floor = medians[row.floor_name] * row.floor_scale
        result.floor_ratio = ratio_of(samples[OURS], samples[row.floor_name]).median / row.floor_scale
    elif row.floor:
        result.floor = row.floor(context.machine)
        result.floor_ratio = result.ours / result.floor
    verdicts = [result.ratio <= row.target] if result.ratio is not None and not row.floor_decides else []
    if row.or_floor is not None and result.floor_ratio is not None:
        verdicts.append(result.floor_ratio <= row.or_floor)
    result.met = any(verdicts) if verdicts else None
    return result
