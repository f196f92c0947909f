"""What boxings cost in graphs.

    python tools/bench/graph_boxings.py            # two devices of this process
    thalweg run --nproc 2 tools/bench/graph_boxings.py

In one process: pairs of a scalar all-reduce and an add, each on the result of the one before, in one graph. In several:
the same; and a step whose many small gradients are reduced one by one, or in buckets. Medians over rounds.
"""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import thalweg as tw
from thalweg._core._native import Graph, PartProgram, lay_out

ROUNDS = 9
PAIRS = 2000
TENSORS, WIDTH = 150, 64


def seconds(body: Callable[[], object], calls: int = 1) -> float:
    """Of a call, the median over rounds."""
    body()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            body()
        rounds.append((time.perf_counter() - start) / calls)
    return statistics.median(rounds)


def pairs_text(mine: list[int], ranks: int) -> str:
    """x becomes its sum over all ranks, plus c, again and again; of the ranks of one process."""
    count = len(mine)
    lines = ['graph "pairs" {', *(f'  input %{i} "x{i}" : float32[]' for i in range(count))]
    lines.append(f'  input %{count} "c" : float32[]')
    x, following = list(range(count)), count + 1
    layouts = f'source="cpu{list(range(ranks))} P(sum)", target="cpu{list(range(ranks))} B"'
    for pair in range(PAIRS):
        y = list(range(following, following + count))
        parts = ", ".join(f"%{i}" for i in x)
        lines.append(
            f"  {', '.join(f'%{i}' for i in y)} = boxing_part([{parts}], {layouts}, size=[], dtype=float32,"
            f" ranks={mine}, order={pair}) : {', '.join(['float32[]'] * count)}"
        )
        x = [i + count for i in y]
        lines += [f"  %{i + count} = add(%{i}, %{count}) : float32[]" for i in y]
        following += 2 * count
    return "\n".join([*lines, "  return " + ", ".join(f"%{i}" for i in x), "}", ""])


def gradients_text(ranks: int, cut_for: int | None) -> str:
    """A step in which each of many tensors gets the sum over all ranks of what each makes of it: of global tensors, or,
    one all-reduce a tensor, as the process of a rank runs it."""
    everybody, shape = f"cpu{list(range(ranks))}", f"float32[{WIDTH}, {WIDTH}]"
    pending, whole = ("", "") if cut_for is not None else (f" @{everybody} P(sum)", f" @{everybody} B")
    lines = ['graph "gradients" {', f'  input %0 "x" : {shape}{pending}']
    lines += [f'  variable %{i + 1} "w{i}" : {shape}{whole}' for i in range(TENSORS)]
    value, assigns = TENSORS + 1, []
    for i in range(TENSORS):
        lines.append(f"  %{value} = add(%0, %0, alpha={i + 2}) : {shape}{pending}")
        boxing = f"boxing(%{value})"
        if cut_for is not None:
            boxing = (
                f'boxing_part([%{value}], source="{everybody} P(sum)", target="{everybody} B", size=[{WIDTH}, {WIDTH}],'
                f" dtype=float32, ranks=[{cut_for}], order={i})"
            )
        lines.append(f"  %{value + 1} = {boxing} : {shape}{whole}")
        value += 2
    for i in range(TENSORS):
        lines.append(f"  %{value} = sub(%{i + 1}, %{TENSORS + 2 + 2 * i}, alpha=0.001) : {shape}{whole}")
        assigns.append(f"  assign %{i + 1} = %{value}")
        value += 1
    return "\n".join([*lines, *assigns, "  return", "}", ""])


def gradients_program(ranks: int, cut_for: int | None) -> PartProgram:
    graph = Graph.parse(gradients_text(ranks, cut_for))
    return PartProgram(
        graph if cut_for is not None else lay_out(graph)[0], [tw.zeros(WIDTH, WIDTH) for _ in range(TENSORS)]
    )


def main() -> None:
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    mine = [int(os.environ["RANK"])] if processes > 1 else [0, 1]
    tw.env.init(devices_per_process=len(mine))
    ranks = max(processes, len(mine))
    pairs = PartProgram(Graph.parse(pairs_text(mine, ranks)), [])
    # The sum grows by a factor a pair, and is infinite soon: it takes no longer.
    inputs = [tw.tensor(0.0) for _ in mine] + [tw.tensor(1.0)]
    took = seconds(lambda: pairs.run(inputs)) / PAIRS
    report = [f"scalar all-reduce + add, {ranks} ranks in {processes} process(es): {1e-3 / took:.0f} k/s"]
    if processes > 1:
        x = [tw.ones(WIDTH, WIDTH)]
        one, bucketed = (gradients_program(ranks, cut_for) for cut_for in (mine[0], None))
        times = [seconds(partial(program.run, x), 5) for program in (one, bucketed)]
        report.append(
            f"step with {TENSORS} gradients of {WIDTH}x{WIDTH}: {times[0] * 1e3:.2f} ms one by one, "
            f"{times[1] * 1e3:.2f} ms in buckets, {times[1] / times[0]:.2f}"
        )
    if mine[0] == 0:
        print("\n".join(report))


if __name__ == "__main__":
    main()
