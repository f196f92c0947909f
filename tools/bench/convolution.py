"""A 3x3 convolution, forward and backward, on channels_last tensors, beside torch in both of its layouts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.frameworks import TORCH, Framework
from bench.measure import Contender, timed
from bench.rows import Context, Row

BATCH, CHANNELS, SIDE = 32, 64, 32


def _build(fw: Framework, layout: str | None) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, CHANNELS, SIDE, SIDE), dtype=np.float32)
    w = rng.standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=np.float32) / 24
    upstream = fw.tensor(rng.standard_normal(x.shape, dtype=np.float32))
    tx, tw_ = fw.tensor(x), fw.tensor(w)
    if layout:
        form = getattr(fw.module, layout)
        tx, tw_, upstream = (t.to(memory_format=form) for t in (tx, tw_, upstream))
    tx.requires_grad_()
    tw_.requires_grad_()

    def call() -> Any:
        tx.grad = tw_.grad = None
        y = fw.F.conv2d(tx, tw_, padding=1)
        y.backward(upstream)
        return y, tx.grad, tw_.grad

    return call


def _contenders(context: Context) -> Sequence[Contender]:
    ours, channels_last = context.both(lambda fw: _build(fw, "channels_last"))
    row_major = _build(context.sides[TORCH], None)
    return [ours, Contender(TORCH, timed(row_major)), Contender("torch, channels_last", channels_last.sample)]


_FLOPS = 3 * 2 * BATCH * CHANNELS * CHANNELS * SIDE * SIDE * 9

ROWS = [
    Row(
        f"conv 3x3, {BATCH}x{CHANNELS}x{SIDE}x{SIDE}, forward and backward",
        1.05,
        _contenders,
        floor=lambda machine: machine.flops(_FLOPS),
        floor_text="its flops at BLAS's speed",
    ),
]
