"""What the machine can do at best on the given threads: how fast memory is copied, how fast BLAS multiplies.

Floors of other rows are derived from these two.
"""

import os
import platform
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.blas import Blas
from bench.measure import timed

COPY_ELEMENTS = 4096 * 1024  # 16 MiB of float32, the size of the kernel rows
PRODUCT_SIZE = 1024
BUSY = 2.0  # with a load above this, times say little


@dataclass
class Machine:
    """Seconds to read or write a byte, and seconds a flop, both measured."""

    threads: int
    s_per_byte: float
    s_per_flop: float

    def passes(self, count: float, size_bytes: float = 4 * COPY_ELEMENTS) -> float:
        """Seconds to read or write size_bytes `count` times."""
        return count * size_bytes * self.s_per_byte

    def flops(self, count: float) -> float:
        """Seconds that BLAS takes for `count` flops."""
        return count * self.s_per_flop


def measure_machine(torch: Any, blas: Blas, threads: int, rounds: int) -> Machine:
    """Copies with torch's parallel copy and multiplies 1024 x 1024 matrices with BLAS."""
    torch.set_num_threads(threads)
    source, target = torch.ones(COPY_ELEMENTS), torch.empty(COPY_ELEMENTS)
    a = np.ones((PRODUCT_SIZE, PRODUCT_SIZE), np.float32)
    c = np.empty_like(a)
    copy = timed(lambda: target.copy_(source))
    multiply = timed(blas.best_call(a, a, c, threads))
    copy_s = statistics.median(copy() for _ in range(rounds))
    multiply_s = statistics.median(multiply() for _ in range(rounds))
    return Machine(threads, copy_s / (8 * COPY_ELEMENTS), multiply_s / (2 * PRODUCT_SIZE**3))


def describe() -> dict[str, Any]:
    """Of the processor and the system, for the reader of the numbers."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }
