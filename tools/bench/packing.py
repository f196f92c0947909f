"""How tightly and how fast the planner packs memory.

    python tools/bench/packing.py FOLDER              the instances of a folder, by every packer
    python tools/bench/packing.py FOLDER --capacity 2097152
    python tools/bench/packing.py --training          blocks as training steps make them, 100 to 100,000

An instance is a file of lines `id,lower,upper,size` with such a heading: a block of `size` bytes that is live from step
`lower` until before step `upper`.. Every packing is verified.
Exits 1 when a target is missed: the default packer beats first fit by size and takes at most 0.1 s an instance.
"""

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from thalweg._core import _native

CAPACITY = 1048576
FAST_S = 0.1
ROUNDS = 5  # of the default packer
SEARCH_S = 60.0


class Result(NamedTuple):
    peak: int
    lower_bound: int
    packer: str
    seconds: float


def read_instance(path: Path) -> list[_native.Block]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            _native.Block(int(row["size"]), int(row["lower"]), int(row["upper"]) - 1) for row in csv.DictReader(file)
        ]


def training_blocks(layers: int) -> list[_native.Block]:
    """A step of `layers` layers in two stages: activations that live until their backward, gradients until the
    optimizer's step, scratch, and a skip connection from each layer of the first stage to its mirror in the second."""
    blocks = []
    turn, end = 3 * layers, 6 * layers
    for i in range(layers):
        forward, backward = 3 * i, turn + 3 * (layers - 1 - i)
        width = 4096 * (1 + i * 37 % 61)
        blocks += [
            _native.Block(4 * width, forward, backward + 1, 64),
            _native.Block(4 * width * (1 + i % 3), forward + 1, backward, 64),
            _native.Block(4 * width * (1 + i * 5 % 8), forward, forward + 1, 64),
            _native.Block(4 + i % 96, forward + 2, backward, 64),
            _native.Block(4 * width, backward - 1, backward + 3, 64),
            _native.Block(4 * width * (1 + i * 3 % 4), backward, backward + 1, 64),
            _native.Block(width * (1 + i * 7 % 10), backward + 1, end + i, 64),
            _native.Block(width * (1 + i * 11 % 10), end + i, end + i, 64),
        ]
        if 2 * i < layers - 1:
            blocks.append(_native.Block(width, forward + 1, 3 * (layers - 1 - i), 64))
    return blocks


def packed(blocks: Sequence[_native.Block], effort: _native.Effort, enough: int, rounds: int = 1) -> Result:
    """The packing, which is the same in every round, and the median of their seconds."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        packing = _native.pack(blocks, effort, enough)
        seconds.append(time.perf_counter() - start)
    _native.check_packing(blocks, packing.offsets)
    return Result(packing.peak_bytes, packing.lower_bound_bytes, packing.packer, statistics.median(seconds))


def instances(folder: Path, capacity: int) -> Iterator[str]:
    """One line of a table an instance; peaks in parts of the capacity."""
    for path in sorted(folder.glob("*.csv")):
        blocks = read_instance(path)
        greedy = packed(blocks, _native.Effort.GREEDY, 0)
        fast = packed(blocks, _native.Effort.FAST, 0, ROUNDS)
        found = packed(blocks, _native.Effort.SEARCH, capacity)
        met = fast.peak < greedy.peak and fast.seconds <= FAST_S
        met = met and found.peak <= capacity and found.seconds <= SEARCH_S
        peaks = [result / capacity for result in (greedy.lower_bound, greedy.peak, fast.peak, found.peak)]
        shown = [f"{peaks[0]:.4f}", f"{peaks[1]:.4f}", f"{peaks[2]:.4f}", f"{fast.seconds:.3f}", f"{peaks[3]:.4f}"]
        yield f"| {path.stem} | {len(blocks)} | {' | '.join(shown)} | {found.seconds:.2f} | {'' if met else 'missed'} |"


def training() -> Iterator[str]:
    """One line of a table a size; peaks in parts of the lower bound."""
    for count in (100, 1000, 10_000, 100_000):
        blocks = training_blocks(count * 2 // 17)
        result = packed(blocks, _native.Effort.FAST, 0, ROUNDS)
        yield f"| {len(blocks)} | {result.peak / result.lower_bound:.4f} | {result.packer} | {result.seconds:.3f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="*.csv files of instances")
    parser.add_argument("--capacity", type=int, default=CAPACITY, help="bytes; the search is content with it")
    parser.add_argument("--training", action="store_true", help="blocks as training steps make them")
    arguments = parser.parse_args()
    if arguments.folder is None and not arguments.training:
        parser.error("give a folder of instances, or --training")
    failed = False
    if arguments.folder is not None:
        print("| instance | blocks | lower bound | first fit by size | default | s | search | s | |")
        print("|---|---|---|---|---|---|---|---|---|")
        for line in instances(arguments.folder, arguments.capacity):
            failed |= "missed" in line
            print(line, flush=True)
    if arguments.training:
        print("| blocks | peak / lower bound | packer | s |\n|---|---|---|---|")
        for line in training():
            print(line, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
