"""Matrix products, plain and transposed, beside BLAS called directly on the same threads."""

from collections.abc import Callable, Sequence

import numpy as np

from bench.blas import Blas
from bench.frameworks import OURS, TORCH
from bench.measure import Contender, timed
from bench.rows import Context, Row

# The result is m x n, k is summed over; the last two are products of the GPT step (QKV, and the gradient of MLP-up).
SHAPES = [
    (512, 512, 512, ""),
    (1024, 1024, 1024, ""),
    (1024, 1024, 1024, "a transposed"),
    (1024, 1024, 1024, "b transposed"),
    (2048, 1152, 384, "b transposed"),
    (1536, 384, 2048, "a transposed"),
]
SHARE = 0.95


def _operand(rows: int, columns: int, transposed: bool, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if transposed:
        return rng.standard_normal((columns, rows), dtype=np.float32).T
    return rng.standard_normal((rows, columns), dtype=np.float32)


def _product(m: int, n: int, k: int, form: str) -> Callable[[Context], Sequence[Contender]]:
    def build(context: Context) -> Sequence[Contender]:
        blas = Blas()
        a = _operand(m, k, form == "a transposed", 0)
        b = _operand(k, n, form == "b transposed", 1)
        c = np.empty((m, n), np.float32)
        x, y = (context.sides[OURS].module.from_numpy(v) for v in (a, b))
        ours = context.ours(lambda fw: lambda: x @ y)
        direct = blas.best_call(a, b, c, context.threads)
        direct()
        np.testing.assert_allclose(ours().numpy(), c, rtol=1e-3, atol=1e-3)
        p, q = (context.sides[TORCH].module.from_numpy(v) for v in (a, b))
        return [
            Contender(OURS, timed(ours)),
            Contender("BLAS", timed(direct)),
            Contender("torch", timed(lambda: p @ q)),
        ]

    return build


def _row(m: int, n: int, k: int, form: str) -> Row:
    name = f"matmul {m}x{k} @ {k}x{n}" + (f", {form}" if form else "")
    return Row(
        name,
        1 / SHARE,
        _product(m, n, k, form),
        peers=("BLAS",),
        floor=lambda machine: machine.flops(2 * m * n * k),
        floor_text="BLAS on 1024x1024",
    )


ROWS = [_row(*shape) for shape in SHAPES]
