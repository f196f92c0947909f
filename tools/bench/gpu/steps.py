"""Training steps on a GPU beside torch, eager and compiled."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from bench.frameworks import OURS, TORCH, Framework
from bench.gpu.device import timed_on_gpu
from bench.measure import Contender
from bench.models import gpt, resnet
from bench.rows import Context, Row, check_same
from bench.steps import CHECKED_STEPS, training_step

Start = Callable[[Framework], Callable[[], Any]]


# Eager; a program whose kernels are launched one by one; the same as CUDA graphs.
KINDS = ("", "static program: ", "CUDA graphs: ")


def _contenders(model_file: ModuleType, kind: str) -> Callable[[Context], Sequence[Contender]]:
    def build(context: Context) -> Sequence[Contender]:
        losses = []

        def start(fw: Framework) -> Callable[[], Any]:
            ours = fw.name == OURS
            before = fw.module.cuda.allow_graphs(kind == "CUDA graphs: ") if ours else None
            try:
                step = training_step(fw, model_file, static=ours and kind != "")
                losses.append([float(step().detach()) for _ in range(CHECKED_STEPS)])
            finally:
                if ours:
                    fw.module.cuda.allow_graphs(before)
            return step

        found = [Contender(OURS, timed_on_gpu(context.sides[OURS], context.ours(start)))]
        if torch := context.sides.get(TORCH):
            theirs = start(torch)
            check_same(context.sides[OURS], losses[0], torch, losses[-1], 1e-3)
            found.append(Contender(TORCH, timed_on_gpu(torch, theirs)))
            found.append(Contender("torch.compile", timed_on_gpu(torch, _compiled(torch, model_file))))
        return found

    return build


def _compiled(fw: Framework, model_file: ModuleType) -> Callable[[], Any]:
    step = training_step(fw, model_file, wrap_loss=fw.module.compile)
    step()
    return step


def rows() -> list[Row]:
    """The GPT before ResNet-18; of each the kinds in their order."""
    return [
        Row(f"{kind}{name} step", 0.9, _contenders(model_file, kind))
        for name, model_file in (("GPT", gpt), ("ResNet-18", resnet))
        for kind in KINDS
    ]
