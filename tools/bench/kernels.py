"""Row-wise kernels over 4096 x 1024, forward and backward. Floors are passes over memory at the speed of a copy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.frameworks import Framework
from bench.rows import Context, Row

ROWS_COUNT, WIDTH = 4096, 1024


def _input(fw: Framework) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = fw.tensor(rng.standard_normal((ROWS_COUNT, WIDTH), dtype=np.float32), requires_grad=True)
    return x, fw.tensor(rng.standard_normal((ROWS_COUNT, WIDTH), dtype=np.float32))


def _pointwise_row(function: Callable[[Framework, Any], Any]) -> Callable[[Framework], Callable[[], Any]]:
    def build(fw: Framework) -> Callable[[], Any]:
        x, upstream = _input(fw)

        def call() -> Any:
            x.grad = None
            y = function(fw, x)
            y.backward(upstream)
            return y, x.grad

        return call

    return build


gelu = _pointwise_row(lambda fw, x: fw.F.gelu(x))
softmax = _pointwise_row(lambda fw, x: fw.F.softmax(x, dim=-1))


def layer_norm(fw: Framework) -> Callable[[], Any]:
    """With weight and bias."""
    x, upstream = _input(fw)
    rng = np.random.default_rng(1)
    weight, bias = (fw.tensor(rng.standard_normal(WIDTH, dtype=np.float32), requires_grad=True) for _ in range(2))

    def call() -> Any:
        x.grad = weight.grad = bias.grad = None
        y = fw.F.layer_norm(x, (WIDTH,), weight, bias)
        y.backward(upstream)
        return y, x.grad, weight.grad, bias.grad

    return call


def cross_entropy(fw: Framework) -> Callable[[], Any]:
    """The mean over rows, 1024 classes."""
    x, _ = _input(fw)
    target = fw.tensor(np.random.default_rng(2).integers(0, WIDTH, ROWS_COUNT))

    def call() -> Any:
        x.grad = None
        loss = fw.F.cross_entropy(x, target)
        loss.backward()
        return loss, x.grad

    return call


def _row(name: str, build: Callable[[Framework], Callable[[], Any]], passes: int) -> Row:
    def contenders(context: Context) -> Any:
        return context.both(build)

    return Row(
        f"{name} {ROWS_COUNT}x{WIDTH}, forward and backward",
        0.6,
        contenders,
        floor=lambda machine: machine.passes(passes),
        floor_text=f"{passes} passes over memory",
    )


# Forward reads x and writes y; backward reads the upstream gradient and x or y, and writes the gradient. The loss
# writes no y and its upstream is a number.
ROWS = [
    _row("gelu", gelu, 5),
    _row("softmax", softmax, 5),
    _row("layer_norm", layer_norm, 5),
    _row("cross_entropy", cross_entropy, 3),
]
