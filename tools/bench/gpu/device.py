"""Both sides on a GPU: tensors there, and times between events, which leave out what only the host does."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.frameworks import Framework

TURN_S = 0.03  # of the GPU, in which a short call is repeated


class GpuFramework(Framework):
    """A framework whose tensors are made on the GPU."""

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        """A tensor on the GPU that holds a copy of the array."""
        result = self.module.tensor(array).to("cuda")
        return result.requires_grad_() if requires_grad else result

    def load(self, model: Any, seed: int = 0) -> Any:
        """The model on the GPU, with the same numbers as on the other side."""
        return super().load(model.to("cuda"), seed)

    def set_threads(self, count: int) -> None:
        """Nothing: kernels of a GPU have no threads to set."""

    def numpy(self, value: Any) -> np.ndarray:
        """A result as an array of the CPU; half types as float32."""
        value = value.detach().cpu()
        return (value.float() if "float16" in str(value.dtype) else value).numpy()


def timed_on_gpu(fw: Framework, call: Callable[[], object], turn_s: float = TURN_S) -> Callable[[], float]:
    """A sampler of the GPU's seconds for `call`: once to warm up, then as often as fits into turn_s."""
    cuda = fw.module.cuda
    repeats = 0

    def seconds(count: int) -> float:
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def sample() -> float:
        nonlocal repeats
        call()
        if not repeats:
            repeats = max(1, round(turn_s / max(seconds(3) / 3, 1e-6)))
        return seconds(repeats) / repeats

    return sample


def timed_launches(fw: Framework, call: Callable[[], object], count: int = 1000) -> Callable[[], float]:
    """A sampler of the host's seconds to queue `call`; the GPU is idle before and has too little to do to matter."""

    def sample() -> float:
        call()
        fw.module.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - start
        fw.module.cuda.synchronize()
        return spent / count

    return sample
