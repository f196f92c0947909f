"""All-reduces between two machines over UCX and over our own TCP, side by side.

    python tools/bench/transports.py

The machines are two network namespaces of this one, joined by a pair of virtual cards; making them takes root and the
command ip. Each line is the best of rounds in which the transports take turns.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import machines

ROUNDS = 4
SIZES = {"latency": 4 << 10, "bandwidth": 64 << 20}
PROGRAM = """
import sys, time
import thalweg as tw, thalweg.distributed as dist
dist.init_process_group(timeout=60)
for size, calls in ((4 << 10, 300), (64 << 20, 4)):
    x = tw.zeros(size // 4)
    for _ in range(2): dist.all_reduce(x)
    best = 9.0
    for _ in range(5):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(calls): dist.all_reduce(x)
        best = min(best, (time.perf_counter() - begin) / calls)
    if dist.get_rank() == 0: print(size, best, flush=True)
"""


def measure(transport: str, script: Path) -> dict[int, float]:
    """Seconds of an all-reduce by its bytes."""
    network = machines.Namespaces()
    try:
        os.environ["THALWEG_TRANSPORT"] = transport
        outcomes = machines.finish(machines.start(network, script, [1, 1]))
    finally:
        network.close()
    if any(outcome.code for outcome in outcomes):
        sys.exit(f"{transport}: {[outcome.err for outcome in outcomes]}")
    rows = [line.split()[-2:] for outcome in outcomes for line in outcome.out.splitlines()]
    return {int(size): float(seconds) for size, seconds in rows}


def main() -> None:
    if reason := machines.why_no_namespaces():
        sys.exit(f"transports: {reason}")
    best: dict[tuple[str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "program.py")
        script.write_text(PROGRAM, encoding="utf-8")
        for _ in range(ROUNDS):
            for transport in ("tcp", "ucx"):
                for size, seconds in measure(transport, script).items():
                    best[transport, size] = min(best.get((transport, size), seconds), seconds)
    for name, size in SIZES.items():
        tcp, ucx = best["tcp", size], best["ucx", size]
        shown = [f"{seconds * 1e6:,.1f} us ({size / seconds / 1e9:.3f} GB/s)" for seconds in (tcp, ucx)]
        print(f"{name}: all_reduce of {size:,} bytes: tcp {shown[0]}, ucx {shown[1]}, ucx/tcp {ucx / tcp:.2f}")


if __name__ == "__main__":
    main()
