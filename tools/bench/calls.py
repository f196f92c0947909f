"""What a call costs: tensors so small that the work itself is nothing."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.frameworks import OURS, TORCH, Framework
from bench.measure import Contender, timed
from bench.rows import Context, Row, check_same


def add(fw: Framework) -> Callable[[], Any]:
    """a + b of four elements."""
    a, b = (fw.tensor(np.arange(4, dtype=np.float32) + i) for i in range(2))
    return lambda: a + b


def chain(fw: Framework) -> Callable[[], Any]:
    """Ten ops, each on the result of the last, recorded; then backward."""
    x = fw.tensor(np.array([0.1, 0.2, 0.3, 0.4], np.float32), requires_grad=True)
    one = fw.tensor(np.ones(4, np.float32))

    def call() -> Any:
        x.grad = None
        y = x * x + x
        y = (y - one) * x + y
        y = (y + one) * y - x
        (y * y).sum().backward()
        return x.grad

    return call


RUNTIME = "runtime"
REPEATS = 100  # of the runtime alone


def scale(x: Any, factor: float) -> Any:
    """One op, with a number among the arguments."""
    return x * factor


def scalar_adds(x: Any, y: Any) -> Any:
    """128 additions, each of the last one's result."""
    for _ in range(128):
        x = x + y
    return x


def _static(function: Callable[..., Any], *arguments: float) -> Callable[[Context], Sequence[Contender]]:
    """A compiled function of scalars against torch's eager mode, and against the program without a call of Python."""

    def build(context: Context) -> Sequence[Contender]:
        ours, torch = context.sides[OURS], context.sides[TORCH]

        def arguments_of(fw: Framework) -> list:
            return [fw.tensor(np.array(1.5, np.float32)), *(_argument(fw, value) for value in arguments)]

        mine, theirs = arguments_of(ours), arguments_of(torch)
        compiled = ours.module.jit(function)
        check_same(ours, compiled(*mine), torch, function(*theirs), 1e-6)
        step = compiled.programs()[0].step
        tensors = [value for value in mine if not isinstance(value, float)]
        numbers = [value for value in mine if isinstance(value, float)]
        alone = timed(lambda: step.repeat(tensors, numbers, REPEATS))
        return [
            Contender(OURS, timed(lambda: compiled(*mine))),
            Contender(TORCH, timed(lambda: function(*theirs))),
            Contender(RUNTIME, lambda: alone() / REPEATS),
        ]

    return build


def _argument(fw: Framework, value: float) -> Any:
    """Whole numbers become tensors, others stay numbers."""
    return fw.tensor(np.array(value, np.float32)) if value == int(value) else value


def _rows(context_build: Callable[[Framework], Callable[[], Any]]) -> Callable[[Context], Any]:
    return lambda context: context.both(context_build)


ROWS = [
    Row("add, 4 elements", 0.2, _rows(add)),
    Row("10 small ops, recorded, backward", 0.2, _rows(chain)),
    Row(
        "static program: x * 2.5 of a scalar", 0.3, _static(scale, 2.5), floor_name=RUNTIME, floor_text="its run alone"
    ),
    Row(
        "static program: 128 scalar adds",
        0.05,
        _static(scalar_adds, 2.0),
        floor_name=RUNTIME,
        floor_text="its run alone",
    ),
]
