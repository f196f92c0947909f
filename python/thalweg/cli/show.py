"""thalweg show: plans a graph and writes a page that explains the plan."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from thalweg._core._native import Graph
from thalweg.jit.plan import Plan, format_bytes

__all__ = ["add_to", "load_plan"]


def add_to(commands: Any) -> None:
    """Adds the command to a parser's."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "show",
        help="explain the plan of a graph as an HTML page",
        description="Simplifies and plans a graph, and writes one HTML page that shows its memory over time, its "
        "streams, and its ops by module. The page needs nothing but a browser.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a graph in its text form")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE", help="the page; FILE with .html unless given")
    parser.set_defaults(run=run)


def load_plan(path: Path) -> Plan:
    """The plan of the graph in a text file. Raises OSError or ValueError, which names the file."""
    try:
        graph = Graph.parse(path.read_text(encoding="utf-8"))
        graph.verify()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: a graph in text form is wanted, got something that is not text") from None
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: {error}") from None
    graph.simplify()
    return Plan.of_graph(graph)


def run(options: argparse.Namespace) -> None:
    plan = load_plan(options.file)
    output = options.output or options.file.with_suffix(".html")
    if output == options.file:
        raise ValueError(f"{output}: the page would replace the graph; name another with -o")
    plan.html(output)
    print(
        f"{output}: {len(plan.launches):,} launches, arena {format_bytes(plan.arena_bytes)}, "
        f"lower bound {format_bytes(plan.lower_bound_bytes)}"
    )
