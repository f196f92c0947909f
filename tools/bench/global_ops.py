"""What an op on a global tensor costs beside one on a local tensor, in one process.

    python tools/bench/global_ops.py

Medians over rounds in which all take turns. A part of n devices costs one local op each, off the tape.
"""

import statistics
import time
from collections.abc import Callable

import thalweg as tw

ROUNDS, CALLS = 9, 2000


def turn(call: Callable[[], object]) -> float:
    """Microseconds a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS * 1e6


def main() -> None:
    tw.env.init(devices_per_process=2)
    x = tw.ones(4)
    one = x.to_global(tw.placement("cpu", [0]), tw.sbp.split(0))
    two = x.to_global(tw.placement("cpu", [0, 1]), tw.sbp.split(0))
    pending = two.sum()
    calls: dict[str, Callable[[], object]] = {
        "add of 4, local": lambda: x + x,
        "add of 4, one device": lambda: one + one,
        "add of 4, two devices": lambda: two + two,
        "sum, two devices": lambda: two.sum(),
        "all-reduce of a scalar, then add": lambda: pending.to_global(sbp=tw.sbp.broadcast) + 1.0,
    }
    for call in calls.values():
        turn(call)
    rounds = [[turn(call) for call in calls.values()] for _ in range(ROUNDS)]
    for name, times in zip(calls, zip(*rounds, strict=True), strict=True):
        print(f"{name:<34}{statistics.median(times):>8.2f} us")


if __name__ == "__main__":
    main()
