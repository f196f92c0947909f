"""What a loop gains by computing while its communications are under way.

    thalweg run --nproc 2 tools/bench/scan_boxings.py
    thalweg run --nnodes 2 --node-rank K --nproc 1 --master-addr HOST tools/bench/scan_boxings.py  # on two machines

A scan over layers. A product is cut among the processes, so that its sum is an all-reduce, and another one beside it
does not wait for that; cut evenly, or such that the first process does most of one and the last most of the other. Of a
layer: the time of both, and of the same where the second product reads the sum, so that nothing can go on meanwhile.
Medians over rounds in which all take turns, and of the ratios of these.
"""

import statistics
import time
from collections.abc import Callable

import thalweg as tw
import thalweg.distributed as dist
from thalweg import Tensor

ROUNDS, LAYERS = 25, 16
SIZES = [(16, 256), (64, 256), (256, 512)]  # rows and width of what goes from layer to layer


def scan_of(in_turn: bool, first: tw.sbp.sbp, second: tw.sbp.sbp) -> Callable:
    """Over weights that are cut by rows, the second ones the other way than the first."""

    def layer(h: Tensor, weights: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
        summed = (h.to_global(sbp=first) @ weights[0]).to_global(sbp=tw.sbp.broadcast)
        beside = (summed if in_turn else h).to_global(sbp=second) @ weights[1]
        return summed * 0.5 + beside.to_global(sbp=tw.sbp.broadcast), None

    return lambda x, *weights: tw.scan(layer, x, weights)[0]


def cuts(width: int, processes: int, uneven: bool) -> list[list[int]]:
    """How many rows of the two weights each process has."""
    if not uneven:
        return [[width // processes] * processes] * 2
    few = width // 8
    most = width - few * (processes - 1)
    return [[most, *[few] * (processes - 1)], [*[few] * (processes - 1), most]]


def seconds(step: Callable[[], Tensor]) -> float:
    dist.barrier()
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measure(rows: int, width: int, uneven: bool) -> list[list[float]]:
    """Microseconds of a layer, in each round, of what goes on together and of what does so in turn."""
    line = tw.placement.all("cpu")
    sizes = cuts(width, line.device_count, uneven)
    first, second = (tw.sbp.split(1, sizes=list_of) for list_of in sizes)
    tw.manual_seed(1)
    x = tw.rand(rows, width, placement=line, sbp=tw.sbp.broadcast)
    weights = [tw.rand(LAYERS, width, width, placement=line, sbp=how) / width for how in (first, second)]
    steps = []
    for in_turn in (False, True):
        program = tw.jit(scan_of(in_turn, first, second))
        steps.append(lambda program=program: program(x, *weights))
    for step in steps * 3:
        step()
    return [[seconds(step) / LAYERS * 1e6 for step in steps] for _ in range(ROUNDS)]


def main() -> None:
    tw.env.init()
    tw.set_num_threads(1)
    dist.init_process_group()
    for uneven in (False, True):
        for rows, width in SIZES:
            rounds = measure(rows, width, uneven)
            together, in_turn = (statistics.median(times) for times in zip(*rounds, strict=True))
            ratio = statistics.median(a / b for a, b in rounds)
            if dist.get_rank() == 0:
                kind = "unevenly" if uneven else "evenly"
                print(
                    f"{rows} x {width} cut {kind}: {together:.0f} us a layer, {in_turn:.0f} in turn, ratio {ratio:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
