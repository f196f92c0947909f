"""Steps without end on a mesh of four processes, in whose graphs two groups of ranks meet by turns.

    thalweg run --nproc 4 tools/bench/soak_graphs.py [steps]

Rows and columns of the mesh reduce different things, several at a time, a product is computed beside them, and every
result is read again by the next step. Four steps are in flight, so that boxings follow each other without a pause.
Ends with an error when a result is wrong, and not at all where processes wait for each other in a circle; each thousand
steps print how long they took.
"""

import os
import sys
import time

import thalweg as tw
from thalweg._core._native import Graph, PartProgram, lay_out

TEXT = """graph "soak" {
  input %0 "x" : float32[6] @cpu[[0, 1], [2, 3]] (P(sum), B)
  input %1 "y" : float32[3] @cpu[[0, 1], [2, 3]] (B, P(sum))
  input %2 "z" : float32[4] @cpu[[0, 1], [2, 3]] (S(0), B)
  input %3 "w" : float32[32, 32] @cpu[[0, 1], [2, 3]] (B, B)
  variable %4 "count" : float32[6] @cpu[[0, 1], [2, 3]] (B, B)
  %5 = boxing(%0) : float32[6] @cpu[[0, 1], [2, 3]] (B, B)
  %6 = boxing(%1) : float32[3] @cpu[[0, 1], [2, 3]] (B, B)
  %7 = boxing(%2) : float32[4] @cpu[[0, 1], [2, 3]] (B, B)
  %8 = mm(%3, %3) : float32[32, 32] @cpu[[0, 1], [2, 3]] (B, B)
  %9 = exp(%6) : float32[3] @cpu[[0, 1], [2, 3]] (B, B)
  %10 = boxing(%9) : float32[3] @cpu[[0, 1], [2, 3]] (P(max), B)
  %11 = boxing(%10) : float32[3] @cpu[[0, 1], [2, 3]] (B, B)
  %12 = boxing(%2) : float32[4] @cpu[[0, 1], [2, 3]] (B, S(0))
  %13 = add(%4, %5) : float32[6] @cpu[[0, 1], [2, 3]] (B, B)
  assign %4 = %13
  return %7, %8, %11, %12
}
"""


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rank = int(os.environ["RANK"])
    tw.env.init()
    cut, _, _, _ = lay_out(Graph.parse(TEXT))
    count = tw.zeros(6)
    program = PartProgram(cut, [count])
    program.set_steps_in_flight(4)
    inputs = [tw.ones(6), tw.ones(3), tw.arange(2.0) + 2 * (rank // 2), tw.ones(32, 32)]
    start = time.perf_counter()
    for step in range(1, steps + 1):
        gathered, product, largest, _ = program.run(inputs)
        if step % 1000 == 0 or step == steps:
            wrong = {
                "count": (count / 2).tolist() != [float(step)] * 6,
                "gathered": gathered.tolist() != [0.0, 1.0, 2.0, 3.0],
                "product": product.sum().item() != 32.0**3,
                "largest": not largest.allclose((tw.ones(3) * 2).exp()),
            }
            if any(wrong.values()):
                sys.exit(f"step {step}: {wrong}")
            if rank == 0:
                print(f"{step} steps, {(time.perf_counter() - start) / step * 1e6:.0f} us each", flush=True)


if __name__ == "__main__":
    main()
