"""All-reduces between processes of one machine, beside torch's gloo, and what the machine allows.

    python -m thalweg run --nproc 2 tools/bench/communication.py

Each line is the median over rounds in which both sides take turns. The floor of a large all-reduce in place of T bytes
is memory: each process reads and writes T, which is measured as one pass of both at once; the rings between them stay
in the caches. The floor of a small one is two cache misses, 0.5 us, beside what the call costs in Python, some 6 us.
"""

import datetime
import functools
import os
import statistics
import time
from collections.abc import Callable

import thalweg as tw
import thalweg.distributed as dist
import torch

ROUNDS = 7
SECONDS = 0.12  # of a turn


def turn(call: Callable[[], object], barrier: Callable[[], object], count: int) -> float:
    """Seconds a call."""
    barrier()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def compare(size_bytes: int, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    """Prints the medians of both and the median of the ratios of rounds."""
    rank = dist.get_rank()
    counts = torch.ones(2)
    for place, call in enumerate((ours, theirs)):
        turn(call, dist.barrier, 20 if size_bytes < 1 << 20 else 2)
        seconds = turn(call, dist.barrier, 3)
        counts[place] = max(SECONDS / max(seconds, 1e-6), 2) // 1
    torch.distributed.broadcast(counts, 0)
    rounds = [
        (turn(ours, dist.barrier, int(counts[0])), turn(theirs, dist.barrier, int(counts[1]))) for _ in range(ROUNDS)
    ]
    if rank == 0:
        a, b = (statistics.median(column) for column in zip(*rounds))
        ratio = statistics.median(x / y for x, y in rounds)
        print(f"all_reduce {size_bytes:>11,} bytes: thalweg {a * 1e6:>9.1f} us, gloo {b * 1e6:>9.1f} us, {ratio:.3f}")


def floor(size_bytes: int) -> None:
    """Prints the time of one pass over that size, by both processes at once."""
    x = tw.ones(size_bytes // 4)
    seconds = [turn(x.neg_, dist.barrier, 3) for _ in range(ROUNDS)]
    if dist.get_rank() == 0:
        print(f"floor      {size_bytes:>11,} bytes: {statistics.median(seconds) * 1e6:>17.1f} us")


def main() -> None:
    tw.set_num_threads(1)
    torch.set_num_threads(1)
    dist.init_process_group()
    port = int(os.environ["MASTER_PORT"]) + 1
    torch.distributed.init_process_group(
        "gloo",
        init_method=f"tcp://{os.environ['MASTER_ADDR']}:{port}",
        rank=dist.get_rank(),
        world_size=dist.get_world_size(),
        timeout=datetime.timedelta(seconds=60),
    )
    for size_bytes in (4, 4 << 10, 64 << 10, 1 << 20, 64 << 20):
        x, y = tw.ones(size_bytes // 4), torch.ones(size_bytes // 4)
        compare(
            size_bytes,
            functools.partial(dist.all_reduce, x, dist.ReduceOp.MAX),
            functools.partial(torch.distributed.all_reduce, y, torch.distributed.ReduceOp.MAX),
        )
    floor(64 << 20)
    dist.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
