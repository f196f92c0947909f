"""Input that hides behind compute: throughput over a loader that takes as long as a step, beside the steps alone."""

import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from bench.frameworks import OURS
from bench.measure import SETTLE_S, Contender
from bench.models import gpt, mlp
from bench.rows import Context, Row

SECONDS = 0.5  # of a turn


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _sort(seconds: float) -> None:
    """NumPy work, which lets the interpreter's lock go."""
    end = time.perf_counter() + seconds
    values = np.random.default_rng(0).random(20_000)
    while time.perf_counter() < end:
        np.sort(values)


def _contenders(model_file: ModuleType, work: Callable[[float], None]) -> Callable[[Context], Sequence[Contender]]:
    def build(context: Context) -> Sequence[Contender]:
        fw = context.sides[OURS]
        model = fw.load(model_file.build(fw))
        optimizer = model_file.optimizer(fw, model)
        batch = model_file.batch(fw)

        @fw.module.jit
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad(set_to_none=True)
            loss = model_file.loss(fw, model, x, y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        def seconds_of(results: Callable[[int], Iterator[Any]], count: int) -> float:
            time.sleep(SETTLE_S)
            running = results(count + 1)
            next(running)  # nothing runs yet that the first batch could hide behind
            begin = time.perf_counter()
            for _ in running:
                pass
            return (time.perf_counter() - begin) / count

        def alone(count: int) -> Iterator[Any]:
            return (step(*batch) for _ in range(count))

        def batches(count: int) -> Iterator[Any]:
            for _ in range(count):
                work(busy)
                yield batch

        seconds_of(alone, 3)
        one = min(seconds_of(alone, max(2, round(0.1 / seconds_of(alone, 2)))) for _ in range(3))
        count = max(5, round(SECONDS / one))
        busy = one
        late = seconds_of(batches, count) - one  # a sleep takes longer than it is asked to

        def loaded() -> float:
            nonlocal busy
            busy = seconds_of(alone, count) - late  # as long as a step takes now
            return seconds_of(lambda count: step.over(batches(count)), count)

        return [
            Contender(OURS, loaded),
            Contender("synthetic input", lambda: seconds_of(alone, count)),
        ]

    return build


# A throughput of 0.95.
ROWS = [
    Row("input hidden: MLP step, a loader that sleeps as long", 1 / 0.95, _contenders(mlp, _sleep)),
    Row("input hidden: GPT step, a loader that sleeps as long", 1 / 0.95, _contenders(gpt, _sleep), rounds=5),
    Row("input hidden: GPT step, a loader that computes as long", 1 / 0.95, _contenders(gpt, _sort), rounds=5),
]
