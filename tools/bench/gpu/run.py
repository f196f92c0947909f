"""Measures kernels or training steps on a GPU: `python -m bench.gpu.run kernels --seconds 60 --json FILE`.

The file is written after every row, so that one who stops this at a time limit loses a row, not the table. Rows that
had no time are listed as such.
"""

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import thalweg

from bench import table
from bench.frameworks import OURS, TORCH
from bench.gpu import kernels, steps
from bench.gpu.device import GpuFramework
from bench.machine import Machine
from bench.rows import Context, Result, Row, measure_row

ROUNDS = 5


def context() -> Context:
    """Both sides, or thalweg alone where torch is not installed or sees no GPU."""
    sides = {OURS: GpuFramework(OURS)}
    if importlib.util.find_spec(TORCH):
        torch = GpuFramework(TORCH)
        if torch.module.cuda.is_available():
            sides[TORCH] = torch
    return Context(sides, Machine(1, 0.0, 0.0), 1)


def measured(rows: Sequence[Row], seconds: float, rounds: int = ROUNDS) -> Iterator[Result]:
    """A result for each row; those for which no time was left say so."""
    end, shared = time.monotonic() + seconds, context()
    for row in rows:
        if time.monotonic() > end:
            yield Result(row.name, 1, row.target, row.unit, note="no time was left")
            continue
        try:
            yield measure_row(row, shared, rounds)
        except Exception as error:  # of one kernel: the others are measured all the same
            yield Result(row.name, 1, row.target, row.unit, met=False, note=f"{type(error).__name__}: {error}")


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["kernels", "steps"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if not thalweg.cuda.is_available():
        sys.exit(f"bench: {thalweg.cuda.why_unavailable()}")
    rows = kernels.rows() if options.what == "kernels" else steps.rows()
    results: list[dict[str, Any]] = []
    for result in measured(rows, options.seconds):
        results.append(result.as_dict())
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
    print(table.text(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
