"""Whole training steps: forward, backward, optimizer. Both sides start from the same weights and see the same data."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from bench.frameworks import OURS, TORCH, Framework
from bench.measure import Contender, timed
from bench.models import gpt, mlp, resnet
from bench.rows import Context, Row, check_same

CHECKED_STEPS = 3  # before anything is timed, the losses of this many steps must agree


def training_step(
    fw: Framework,
    model_file: ModuleType,
    layout: str | None = None,
    precision: str = "highest",
    static: bool = False,
    wrap_loss: Callable[[Callable], Callable] | None = None,
) -> Callable[[], Any]:
    """A call that makes one step and returns the loss.

    `layout` names a memory format, `static` makes the step a static program, and `wrap_loss` gives what is called as
    `(model, x, y)` in place of the model's loss.
    """
    model = fw.load(model_file.build(fw))
    x, y = model_file.batch(fw)
    if layout:
        form = getattr(fw.module, layout)
        model, x = model.to(memory_format=form), x.to(memory_format=form)
    optimizer = model_file.optimizer(fw, model)

    def plain_loss(model: Any, x: Any, y: Any) -> Any:
        return model_file.loss(fw, model, x, y)

    loss_of = wrap_loss(plain_loss) if wrap_loss else plain_loss

    def learn(x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    run = fw.module.jit(learn) if static else learn

    def step() -> Any:
        fw.module.set_float32_matmul_precision(precision)
        loss = run(x, y)
        fw.module.set_float32_matmul_precision("highest")
        return loss

    return step


def _contenders(
    model_file: ModuleType, layouts: Sequence[str], precision: str
) -> Callable[[Context], Sequence[Contender]]:
    our_layout = layouts[-1] if layouts else None

    def build(context: Context) -> Sequence[Contender]:
        ours_fw, torch_fw = context.sides[OURS], context.sides[TORCH]
        losses = []

        def start(fw: Framework) -> Callable[[], Any]:
            step = training_step(fw, model_file, our_layout if fw is ours_fw else None, precision)
            losses.append([float(step().detach()) for _ in range(CHECKED_STEPS)])
            return step

        ours, theirs = context.ours(start), start(torch_fw)
        check_same(ours_fw, losses[0], torch_fw, losses[-1], 1e-3)
        peers = [Contender(TORCH, timed(theirs))]
        for layout in layouts:
            peers.append(Contender(f"torch, {layout}", timed(training_step(torch_fw, model_file, layout, precision))))
        return [Contender(OURS, timed(ours)), *peers]

    return build


def _row(
    name: str,
    target: float,
    model_file: ModuleType,
    layouts: Sequence[str] = (),
    precision: str = "highest",
) -> Row:
    return Row(
        name,
        target,
        _contenders(model_file, layouts, precision),
        floor=lambda machine: machine.flops(model_file.FLOPS),
        floor_text="its products and convolutions at BLAS's speed",
    )


ROWS = [
    _row("MLP step, 784-512-512-10, batch 64, SGD", 0.7, mlp),
    _row("GPT step, 6 layers, width 384, 8x256 tokens, AdamW", 0.85, gpt),
    _row("GPT step, float32 products at precision high", 0.85, gpt, precision="high"),
    _row("ResNet-18 step, 32x32, batch 32, SGD", 0.9, resnet, ["channels_last"]),
]
