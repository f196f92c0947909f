"""Ops that memory alone limits, beside a copy of the same memory in the same rounds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.frameworks import OURS, TORCH, Framework
from bench.measure import Contender, timed
from bench.rows import Context, Row, check_same

SIZE = 4096 * 4096  # 64 MiB of float32
SHARE = 0.85  # of the copy's bandwidth, which serves as well as beating torch


def _arrays(fw: Framework, count: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [fw.tensor(rng.standard_normal(SIZE, dtype=np.float32)) for _ in range(count)]


def _copy(context: Context) -> Contender:
    torch = context.sides[TORCH]
    source, target = _arrays(torch, 2)
    return Contender("copy", timed(lambda: target.copy_(source)))


def add(context: Context) -> Sequence[Contender]:
    """c = a + b: torch also into memory that exists already."""

    def build(fw: Framework) -> Callable[[], Any]:
        a, b = _arrays(fw, 2)
        return lambda: a + b

    a, b, c = _arrays(context.sides[TORCH], 3)
    torch = context.sides[TORCH].module
    into = Contender("torch, out=", timed(lambda: torch.add(a, b, out=c)))
    return [*context.both(build), into, _copy(context)]


def total(context: Context) -> Sequence[Contender]:
    """The sum over everything."""

    def build(fw: Framework) -> Callable[[], Any]:
        (a,) = _arrays(fw, 1)
        return lambda: a.sum()

    ours, theirs = context.ours(build), build(context.sides[TORCH])
    check_same(context.sides[OURS], ours(), context.sides[TORCH], theirs(), 1e-2)
    return [Contender(OURS, timed(ours)), Contender(TORCH, timed(theirs)), _copy(context)]


# A copy reads and writes once: add moves 3/2 of its bytes, a sum half of them.
_FLOOR: dict[str, Any] = {"floor_name": "copy", "or_floor": 1 / SHARE, "floor_text": "time of its bytes in a copy"}

ROWS = [
    Row("add 64 MiB", 0.8, add, floor_scale=1.5, **_FLOOR),
    Row("sum 64 MiB", 0.8, total, floor_scale=0.5, **_FLOOR),
]
