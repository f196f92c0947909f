"""Interleaved measurement: contenders take turns, ratios are taken within a round, and medians are reported.

A slow phase of a shared machine hits all contenders of a round alike, so that the median of the rounds' ratios moves
far less than any single time.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# After a parallel region idle threads of OpenMP and OpenBLAS spin for some 25 ms; the next contender waits them out.
SETTLE_S = 0.04
TURN_S = 0.02  # a turn repeats a short call until it has taken this long


@dataclass
class Contender:
    """Someone who takes a turn in every round; sample() returns seconds per call, or bytes."""

    name: str
    sample: Callable[[], float]


def timed(call: Callable[[], object], turn_s: float = TURN_S) -> Callable[[], float]:
    """A sampler that times `call`: once to warm up, then as often as fits into turn_s."""
    repeats = 0

    def sample() -> float:
        nonlocal repeats
        time.sleep(SETTLE_S)
        call()
        if not repeats:
            repeats = _repeats(call, turn_s)
        gc.disable()
        try:
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            return (time.perf_counter() - start) / repeats
        finally:
            gc.enable()

    return sample


def _repeats(call: Callable[[], object], turn_s: float) -> int:
    """How many calls take turn_s: doubles until the clock can tell."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - start
        if spent >= turn_s / 10:
            return max(1, round(turn_s * count / spent))
        count *= 4


def rounds_of(contenders: Sequence[Contender], rounds: int) -> dict[str, list[float]]:
    """Samples of each contender, one a round; the order turns round by round, so that nobody always follows one."""
    samples: dict[str, list[float]] = {c.name: [] for c in contenders}
    for number in range(rounds):
        shift = number % len(contenders)
        for contender in [*contenders[shift:], *contenders[:shift]]:
            samples[contender.name].append(contender.sample())
    return samples


@dataclass
class Ratio:
    """The median of the rounds' ratios, and the quartiles around it."""

    median: float
    low: float
    high: float


def ratio_of(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """ours / theirs, round by round."""
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    if len(ratios) < 4:
        return Ratio(statistics.median(ratios), ratios[0], ratios[-1])
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(median, low, high)


def best_of(samples: dict[str, list[float]], names: Sequence[str]) -> str:
    """Which of these has the lowest median."""
    return min(names, key=lambda name: statistics.median(samples[name]))
