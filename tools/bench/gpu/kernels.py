"""Kernels beside torch's, and beside what the GPU can do: a large copy, a large product of bfloat16 by cuBLAS."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.frameworks import OURS, TORCH, Framework
from bench.gpu.device import timed_launches, timed_on_gpu
from bench.measure import Contender
from bench.rows import Context, Row, check_same

STREAMING = 1 / 0.9  # of the copy's time for the same bytes: 0.9 of its bandwidth
HALF_TOLERANCE, FLOAT_TOLERANCE = 2e-2, 1e-3
Build = Callable[[Framework], Callable[[], Any]]


@dataclass(frozen=True)
class Size:
    """How large the operands are; ROWS uses FULL, a test less."""

    rows: int = 16384
    columns: int = 4096
    product: int = 8192
    batch: int = 8
    heads: int = 16
    length: int = 2048


FULL = Size()


def contenders(context: Context, build: Build, tolerance: float | None, sampler: Any = timed_on_gpu) -> list[Contender]:
    """thalweg and, where it is installed, torch; what the calls return must agree, where a tolerance is given."""
    call = context.ours(build)
    found = [Contender(OURS, sampler(context.sides[OURS], call))]
    if TORCH in context.sides:
        theirs = build(context.sides[TORCH])
        if tolerance is not None:
            check_same(context.sides[OURS], call(), context.sides[TORCH], theirs(), tolerance)
        found.append(Contender(TORCH, sampler(context.sides[TORCH], theirs)))
    return found


def peer_of(context: Context) -> Framework:
    """Whose copy and whose product are the ceilings: torch's where it is installed."""
    return context.sides.get(TORCH, context.sides[OURS])


def copy_contender(context: Context, size: Size) -> Contender:
    """A copy of rows x columns floats."""
    fw = peer_of(context)
    source, target = fw.random(size.rows, size.columns), fw.random(size.rows, size.columns)
    return Contender("copy", timed_on_gpu(fw, lambda: target.copy_(source)))


def product_contender(context: Context, size: Size) -> Contender:
    """A product of square matrices of bfloat16."""
    fw = peer_of(context)
    a, b = (fw.random(size.product, size.product, dtype="bfloat16") for _ in range(2))
    return Contender("product", timed_on_gpu(fw, lambda: a @ b))


def streaming(
    name: str, passes: float, dtype: str, size: Size, build: Callable[..., Callable[[], Any]], random: bool = False
) -> Row:
    """A row that memory limits; `passes` over rows x columns elements, read or written."""
    width = 2 if dtype == "bfloat16" else 4

    def both(context: Context) -> Sequence[Contender]:
        tolerance = None if random else FLOAT_TOLERANCE if dtype == "float32" else HALF_TOLERANCE
        found = contenders(context, lambda fw: build(fw, size, dtype), tolerance)
        return [*found, copy_contender(context, size)]

    return Row(
        f"{name}, {dtype}",
        1.0,
        both,
        floor_name="copy",
        floor_scale=passes * width / 8,
        or_floor=STREAMING,
        floor_decides=True,
        floor_text="time of its bytes in a copy",
    )


def forward(function: Callable[[Framework, Any], Any]) -> Callable[..., Callable[[], Any]]:
    """Of one operand, without recording."""

    def build(fw: Framework, size: Size, dtype: str) -> Callable[[], Any]:
        x = fw.random(size.rows, size.columns, dtype=dtype)
        return lambda: function(fw, x)

    return build


def with_gradient(function: Callable[[Framework, Any], Any]) -> Callable[..., Callable[[], Any]]:
    """Of one operand, forward and backward; returns its gradient."""

    def build(fw: Framework, size: Size, dtype: str) -> Callable[[], Any]:
        x = fw.random(size.rows, size.columns, dtype=dtype, requires_grad=True)
        g = fw.random(size.rows, size.columns, dtype=dtype)

        def step() -> Any:
            y = function(fw, x)
            x.grad = None
            y.backward(g if y.ndim else None)
            return x.grad

        return step

    return build


def sum_of_two(fw: Framework, size: Size, dtype: str) -> Callable[[], Any]:
    """x + y."""
    x, y = (fw.random(size.rows, size.columns, dtype=dtype) for _ in range(2))
    return lambda: x + y


def classes(fw: Framework, x: Any) -> Any:
    """Cross entropy of every row."""
    labels = fw.module.arange(x.shape[0], device="cuda") % x.shape[1]
    return fw.F.cross_entropy(x, labels)


def shares(fw: Framework, x: Any) -> Any:
    """softmax of every row."""
    return fw.F.softmax(x, -1)


def norm(fw: Framework, x: Any) -> Any:
    """layer_norm with weight and bias."""
    weight = fw.module.ones(x.shape[1], dtype=x.dtype, device="cuda")
    return fw.F.layer_norm(x, (x.shape[1],), weight, weight)


def adamw(fw: Framework, size: Size, dtype: str) -> Callable[[], Any]:
    """A step over one parameter of all elements."""
    parameter = fw.nn.Parameter(fw.random(size.rows, size.columns, dtype=dtype))
    parameter.grad = fw.random(size.rows, size.columns, dtype=dtype)
    fused = {} if fw.name == OURS else {"fused": True}
    optimizer = fw.module.optim.AdamW([parameter], lr=1e-3, **fused)

    def step() -> Any:
        optimizer.step()
        return parameter

    return step


def product(dtype: str, size: Size) -> Row:
    """A square product beside cuBLAS's through torch."""

    def build(fw: Framework) -> Callable[[], Any]:
        a, b = (fw.random(size.product, size.product, dtype=dtype) for _ in range(2))
        return lambda: a @ b

    return Row(f"matmul, {dtype}", 1.05, lambda context: contenders(context, build, HALF_TOLERANCE))


def attention(width: int, backward: bool, size: Size) -> Row:
    """Causal attention of bfloat16 beside a product; the share of its rate that is wanted on the mma.sync path."""
    wanted = 0.35 if backward else 0.45

    def build(fw: Framework) -> Callable[[], Any]:
        shape = (size.batch, size.heads, size.length, width)
        q, k, v = (fw.random(*shape, dtype="bfloat16", requires_grad=backward) for _ in range(3))
        g = fw.random(*shape, dtype="bfloat16")

        def call() -> Any:
            out = fw.F.scaled_dot_product_attention(q, k, v, is_causal=True)
            if not backward:
                return out
            q.grad = k.grad = v.grad = None
            out.backward(g)
            return q.grad, k.grad, v.grad

        return call

    flops = 2 * size.batch * size.heads * size.length**2 * width * (1 + 2.5 * backward)
    return Row(
        f"attention, head dim {width}, causal, {'forward and backward' if backward else 'forward'}",
        1.0,
        lambda context: [*contenders(context, build, HALF_TOLERANCE), product_contender(context, size)],
        floor_name="product",
        floor_scale=flops / (2 * size.product**3),
        or_floor=1 / wanted,
        floor_decides=True,
        floor_text="time of its flops in a product",
    )


def launches(context: Context) -> Sequence[Contender]:
    """The host's time to queue an add of 4 elements."""

    def build(fw: Framework) -> Callable[[], Any]:
        x, y = fw.random(4), fw.random(4)
        return lambda: x + y

    return contenders(context, build, FLOAT_TOLERANCE, timed_launches)


def rows(size: Size = FULL) -> list[Row]:
    """All rows, those first that matter most where time runs out."""
    found = [Row("launch: add of 4 elements", 0.6, launches)]
    for dtype in ("float32", "bfloat16"):
        found += [
            streaming("add", 3, dtype, size, sum_of_two),
            streaming("gelu", 2, dtype, size, forward(lambda fw, x: fw.F.gelu(x))),
            streaming("sum", 1, dtype, size, forward(lambda fw, x: x.sum())),
            streaming("sum over columns", 1, dtype, size, forward(lambda fw, x: x.sum(0))),
            streaming("softmax", 2, dtype, size, forward(shares)),
            streaming(
                "softmax, forward and backward", 5, dtype, size, with_gradient(lambda fw, x: fw.F.softmax(x, -1))
            ),
            streaming("layer_norm, forward and backward", 5, dtype, size, with_gradient(norm)),
            streaming("cross_entropy, forward and backward", 3, dtype, size, with_gradient(classes)),
            streaming("dropout", 2, dtype, size, forward(lambda fw, x: fw.F.dropout(x, 0.1)), random=True),
            streaming("AdamW", 7, dtype, size, adamw),
        ]
    found += [product(dtype, size) for dtype in ("bfloat16", "float32")]
    return found + [attention(width, backward, size) for width in (64, 128) for backward in (False, True)]
