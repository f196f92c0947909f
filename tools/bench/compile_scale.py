"""How long graphs of many nodes take to compile, stage by stage: `python tools/bench/compile_scale.py 10000 100000`.

Stages: *trace* runs the Python function on symbolic tensors; *compile* is all that follows until the program can run:
passes, planning, the check of the plan, binding of kernels. Of these, one round of *simplify* and *plan* are timed
again on the graph that came out. Targets on one core: 10,000 nodes within 1 s, 100,000 within 10 s.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import thalweg as tw
from thalweg._core import _native
from thalweg.jit.trace import Trace


def deep(nodes: int) -> Callable:
    """A chain, each op on the result of the one before."""

    def run(x: Any) -> Any:
        for _ in range(nodes // 2):
            x = (x * 0.5).tanh()
        return x.sum()

    return run


def wide(nodes: int) -> Callable:
    """Many short branches side by side, all of which meet in one sum."""

    def run(x: Any) -> Any:
        parts = [(x + i).exp() for i in range(nodes // 3)]
        return tw.stack([part.sum() for part in parts]).sum()

    return run


def training(nodes: int) -> Callable:
    """Layers with weights of their own, their backward and the step of an optimizer."""
    layers = [(tw.randn(8, 8).requires_grad_(), tw.zeros(8).requires_grad_()) for _ in range(max(nodes // 14, 1))]

    def run(x: Any) -> Any:
        for weight, bias in layers:
            x = tw.nn.functional.gelu(tw.nn.functional.linear(x, weight, bias)) + x
        loss = (x * x).mean()
        loss.backward()
        with tw.no_grad():
            for weight, bias in layers:
                weight -= 0.01 * weight.grad
                bias -= 0.01 * bias.grad
                weight.grad = bias.grad = None
        return loss.detach()

    return run


KINDS = {"deep": deep, "wide": wide, "training": training}


def measure(kind: str, nodes: int) -> dict[str, float]:
    """Seconds of each stage, and the numbers of nodes traced and planned."""
    function = KINDS[kind](nodes)
    trace = Trace(kind)
    symbolic = trace.tracer.add_input("x", tw.ones(8, 8))
    begin = time.perf_counter()
    with trace:
        result = function(symbolic)
    traced = time.perf_counter()
    nodes_traced = trace.tracer.node_count()
    step = trace.tracer.finish([result])
    del result
    before = time.perf_counter()
    step.compile(trace.tracer)
    compile_s = time.perf_counter() - before
    graph = _native.Graph.parse(step.graph_text())
    before = time.perf_counter()
    graph.simplify()
    simplified = time.perf_counter()
    graph.plan()
    planned = time.perf_counter()
    return {
        "nodes": nodes_traced,
        "launches": step.launch_count(),
        "trace": traced - begin,
        "compile": compile_s,
        "simplify": simplified - before,
        "plan": planned - simplified,
        "total": traced - begin + compile_s,
    }


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", nargs="*", type=int, default=[1000, 10_000, 100_000])
    parser.add_argument("--kind", choices=sorted(KINDS), action="append")
    args = parser.parse_args()
    tw.set_num_threads(1)
    for kind in args.kind or KINDS:
        for nodes in args.nodes:
            row = measure(kind, nodes)
            print(kind.ljust(9), *(f"{name} {value:,.3f}" if isinstance(value, float) else f"{name} {value:,}"
                                   for name, value in row.items()), sep="  ", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
