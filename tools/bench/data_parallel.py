"""Data-parallel training steps of two processes, beside torch's DDP over gloo, and what a second process gains.

    python -m thalweg run --nproc 2 tools/bench/data_parallel.py

The GPT of models/gpt.py, one thread and one batch a process. In every round all take turns: torch's DDP, ours, and each
process's model without communication, both at once and the first process alone. Scaling is the throughput of both with
DDP over twice that of the first alone; both at once without DDP says what sharing the machine costs by itself.
"""

import datetime
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import thalweg as tw
import thalweg.distributed as dist
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.frameworks import OURS, TORCH, Framework
from bench.models import gpt

ROUNDS = 5


def step_of(name: str, parallel: bool) -> Callable[[], Any]:
    """A call that makes one training step and returns the loss."""
    fw = Framework(name)
    model = fw.load(gpt.build(fw))
    if parallel:
        model = fw.nn.parallel.DistributedDataParallel(model)
    x, y = gpt.batch(fw)
    optimizer = gpt.optimizer(fw, model)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = gpt.loss(fw, model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def turn(step: Callable[[], Any], alone: bool = False) -> float:
    """Seconds of a step that all make at once, or the first process by itself."""
    dist.barrier()
    start = time.perf_counter()
    if not alone or dist.get_rank() == 0:
        step()
    dist.barrier()
    return time.perf_counter() - start


def main() -> None:
    tw.set_num_threads(1)
    torch.set_num_threads(1)
    dist.init_process_group()
    torch.distributed.init_process_group(
        "gloo",
        init_method=f"tcp://{os.environ['MASTER_ADDR']}:{int(os.environ['MASTER_PORT']) + 1}",
        rank=dist.get_rank(),
        world_size=dist.get_world_size(),
        timeout=datetime.timedelta(seconds=120),
    )
    ours, theirs, plain = step_of(OURS, True), step_of(TORCH, True), step_of(OURS, False)
    first = [float(step()) for step in (ours, theirs, plain)]
    if max(first) - min(first) > 1e-4:
        raise ValueError(f"the losses of the first step differ: {first}")
    for step in (ours, theirs, plain):
        turn(step)
    rounds = [(turn(ours), turn(theirs), turn(plain), turn(plain, alone=True)) for _ in range(ROUNDS)]
    if dist.get_rank() == 0:
        names = ("thalweg DDP", "torch DDP", "thalweg, no communication", "thalweg, the first process alone")
        for name, times in zip(names, zip(*rounds, strict=True), strict=True):
            print(f"{name:<34}{statistics.median(times) * 1e3:>8.0f} ms")
        print(f"thalweg / torch {statistics.median(a / b for a, b, _, _ in rounds):.3f}")
        print(f"scaling to two processes {statistics.median(d / a for a, _, _, d in rounds):.3f}, "
              f"without communication {statistics.median(d / c for _, _, c, d in rounds):.3f}")  # fmt: skip
    dist.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
