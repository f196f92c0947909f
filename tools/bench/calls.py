"""What a call costs: tensors so small that the work itself is nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.frameworks import Framework
from bench.rows import Context, Row


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


def _rows(context_build: Callable[[Framework], Callable[[], Any]]) -> Callable[[Context], Any]:
    return lambda context: context.both(context_build)


ROWS = [
    Row("add, 4 elements", 0.2, _rows(add)),
    Row("10 small ops, recorded, backward", 0.2, _rows(chain)),
]
