"""Runs the benchmark suite and prints its table.

    python tools/bench/run.py                         everything, on one thread and on all cores
    python tools/bench/run.py gelu matmul             the rows whose names contain one of the words
    python tools/bench/run.py --threads 1 --json out.json --rounds 5

Needs torch 2.13 beside thalweg, and JAX for the rows of static programs (the `bench` extra has both). Exits 1 when a
measured row misses its target and --strict is given.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import bandwidth, calls, convolution, kernels, loading, processes, products, static, steps, table  # noqa: E402
from bench.blas import Blas  # noqa: E402
from bench.frameworks import OURS, TORCH, Framework  # noqa: E402
from bench.machine import BUSY, describe, measure_machine  # noqa: E402
from bench.rows import Context, Row, measure_row  # noqa: E402

ROWS: list[Row] = [
    row
    for file in (calls, kernels, bandwidth, products, convolution, steps, static, loading, processes)
    for row in file.ROWS
]


def selected(words: Sequence[str]) -> list[Row]:
    """The rows whose names contain one of the words; all without words."""
    rows = [row for row in ROWS if not words or any(word in row.name for word in words)]
    if not rows:
        raise SystemExit(f"bench: no row's name contains {' or '.join(words)}; there are: {[r.name for r in ROWS]}")
    return rows


def warn_if_busy() -> None:
    """Says on stderr when others use the machine."""
    load = os.getloadavg()[0]
    if load > BUSY:
        print(f"bench: the load is {load:.1f}; other work disturbs these times", file=sys.stderr)


def run(rows: Sequence[Row], threads: Sequence[int], rounds: int) -> dict[str, Any]:
    """Measures; the dict is what --json writes."""
    sides = {name: Framework(name) for name in (OURS, TORCH)}
    blas = Blas()
    results = []
    for count in threads:
        context = Context(sides, measure_machine(sides[TORCH].module, blas, count, rounds), count)
        for row in rows:
            if not row.per_thread and count != max(threads):
                continue
            result = measure_row(row, context, min(rounds, row.rounds)).as_dict()
            results.append(result)
            print("  ".join(cell for cell in table.cells(result) if cell), file=sys.stderr, flush=True)
    versions = {name: str(side.module.__version__) for name, side in sides.items()}
    return {"machine": describe(), "versions": versions, "rounds": rounds, "results": results}


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="words of row names")
    parser.add_argument("--threads", default=None, help="numbers separated by commas; default: 1 and all cores")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each row (default 15)")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    args = parser.parse_args()
    rows = selected(args.names)
    if args.list:
        print("\n".join(row.name for row in rows))
        return 0
    cores = len(os.sched_getaffinity(0))
    threads = [int(n) for n in args.threads.split(",")] if args.threads else sorted({1, cores})
    warn_if_busy()
    report = run(rows, threads, args.rounds)
    warn_if_busy()
    print(table.text(report["results"]))
    if args.json:
        args.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    missed = [r for r in report["results"] if r["met"] is False]
    return 1 if args.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
