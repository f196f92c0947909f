"""What a loop gains by computing while its communications are under way.

    thalweg run --nproc 2 tools/bench/scan_boxings.py
    thalweg run --nnodes 2 --node-rank K --nproc 1 --master-addr HOST tools/bench/scan_boxings.py  # on two machines

A scan over pairs of layers. In each a product is cut among the processes, so that its sum is an all-reduce, and another
one beside it needs no sum; the first is cut evenly, or such that the first process does most of it in one layer of a
pair and the last in the other. Of a layer: the time of both, and of the same where the second product reads the sum, so
that nothing can go on meanwhile. Medians over rounds in which all take turns, and of the ratios of these.
"""

import statistics
import time
from collections.abc import Callable

import thalweg as tw
import thalweg.distributed as dist
from thalweg import Tensor

ROUNDS, PAIRS = 25, 8
SIZES = [(16, 256), (64, 256), (256, 512)]  # rows and width of what goes from layer to layer


def scan_of(in_turn: bool, hows: list[tw.sbp.sbp]) -> Callable:
    """Over the weights of pairs of layers: the first two are cut by rows, as `hows` says, the third by columns."""

    def pair(carried: tuple[Tensor, Tensor], weights: tuple[Tensor, ...]) -> tuple[tuple[Tensor, Tensor], None]:
        h, total = carried
        for how, cut in zip(hows, weights, strict=False):
            summed = (h.to_global(sbp=how) @ cut).to_global(sbp=tw.sbp.broadcast)
            total = total + (summed if in_turn else h) @ weights[2]
            h = summed * 0.5
        return (h, total), None

    return lambda x, total, *weights: tw.scan(pair, (x, total), weights)[0]


def cuts(width: int, processes: int, uneven: bool) -> list[list[int]]:
    """How many rows each process has of the first weights of the two layers."""
    if not uneven:
        return [[width // processes] * processes] * 2
    few = width // 8
    most = width - few * (processes - 1)
    return [[most, *[few] * (processes - 1)], [*[few] * (processes - 1), most]]


def seconds(step: Callable[[], object]) -> float:
    dist.barrier()
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measure(rows: int, width: int, uneven: bool) -> list[list[float]]:
    """Microseconds of a layer, in each round, of what goes on together and of what does so in turn."""
    line = tw.placement.all("cpu")
    hows = [tw.sbp.split(1, sizes=sizes) for sizes in cuts(width, line.device_count, uneven)]
    tw.manual_seed(1)
    x = tw.rand(rows, width, placement=line, sbp=tw.sbp.broadcast)
    total = tw.zeros(rows, width, placement=line, sbp=tw.sbp.split(1))
    weights = [tw.rand(PAIRS, width, width, placement=line, sbp=how) / width for how in (*hows, tw.sbp.split(2))]
    steps = []
    for in_turn in (False, True):
        program = tw.jit(scan_of(in_turn, hows))
        steps.append(lambda program=program: program(x, total, *weights))
    for step in steps * 3:
        step()
    return [[seconds(step) / (2 * PAIRS) * 1e6 for step in steps] for _ in range(ROUNDS)]


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
