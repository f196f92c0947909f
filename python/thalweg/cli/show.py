"""thalweg show: a page that explains the plan of a graph, or shows a trace of a run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from thalweg._core._native import Graph
from thalweg.jit.plan import Plan, format_bytes
from thalweg.profiler.trace_page import is_trace, read_trace, render_trace

__all__ = ["add_to", "load_plan"]


def add_to(commands: Any) -> None:
    """Adds the command to a parser's."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "show",
        help="explain the plan of a graph, or show a trace, as an HTML page",
        description="Simplifies and plans a graph, and writes one HTML page that shows its memory over time, its "
        "streams, and its ops by module; of a Chrome trace, its threads and streams over time. The page needs nothing "
        "but a browser.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a graph in its text form, a saved one, or a trace")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE", help="the page; FILE with .html unless given")
    parser.set_defaults(run=run)


def load_plan(path: Path) -> Plan:
    """The plan of the graph in a file. Raises OSError or ValueError, which names the file."""
    try:
        graph = Graph.parse(read_graph(path))
        graph.verify()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: a graph is wanted, got something that is neither text nor a saved graph") from None
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: {error}") from None
    graph.simplify()
    return Plan.of_graph(graph)


def read_graph(path: Path) -> str:
    """The text of a graph: the whole of a file of text, or a part of the header of a saved graph."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")  # a file of tensors begins with the size of its header
        if size >= path.stat().st_size or file.read(1) != b"{":
            return path.read_text(encoding="utf-8")
        header = json.loads(b"{" + file.read(size - 1))
    text = header.get("__metadata__", {}).get("graph")
    if text is None:
        raise ValueError("a graph is wanted, got a file of tensors without one")
    return text


def run(options: argparse.Namespace) -> None:
    output = options.output or options.file.with_suffix(".html")
    if output == options.file:
        raise ValueError(f"{output}: the page would replace the graph; name another with -o")
    with open(options.file, "rb") as file:
        traced = is_trace(file.read(64))
    if traced:
        entries = read_trace(options.file)
        output.write_text(render_trace(options.file.name, entries), encoding="utf-8")
        print(f"{output}: {sum(entry['ph'] == 'X' for entry in entries):,} events")
        return
    plan = load_plan(options.file)
    plan.html(output)
    print(
        f"{output}: {len(plan.launches):,} launches, arena {format_bytes(plan.arena_bytes)}, "
        f"lower bound {format_bytes(plan.lower_bound_bytes)}"
    )
