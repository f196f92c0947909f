"""Results as text: for the terminal, and as Markdown."""

from collections.abc import Sequence
from typing import Any

COLUMNS = ["benchmark", "threads", "thalweg", "peer", "ratio", "target", "met", "floor"]

UNITS = {
    "s": [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")],
    "B": [(2.0**20, "MiB"), (2.0**30, "GiB")],
}


def amount(value: float | None, unit: str) -> str:
    """Seconds or bytes with a unit that suits."""
    if value is None:
        return "-"
    scale, name = next(((s, n) for s, n in reversed(UNITS[unit]) if value >= s), UNITS[unit][0])
    return f"{value / scale:.3g} {name}" if value / scale < 1000 else f"{value / scale:.0f} {name}"


def cells(result: dict[str, Any]) -> list[str]:
    """One row, in the order of COLUMNS."""
    if result["ours"] is None:
        return [result["name"], str(result["threads"]), result["note"], "", "", f"{result['target']:.3g}", "-", ""]
    floor = ""
    if result["floor_ratio"] is not None:
        floor = f"{result['floor_ratio']:.2f} x {result['floor_text']}"
    spread, peer = "-", "-"
    if result["ratio"] is not None:
        spread = f"{result['ratio']:.3g} ({result['low']:.3g}-{result['high']:.3g})"
        peer = f"{amount(result['peer'], result['unit'])} {result['peer_name']}"
    met = {True: "yes", False: "no", None: "-"}[result["met"]]
    ours = amount(result["ours"], result["unit"])
    return [result["name"], str(result["threads"]), ours, peer, spread, f"{result['target']:.3g}", met, floor]


def text(results: Sequence[dict[str, Any]]) -> str:
    """Aligned columns."""
    rows = [COLUMNS, *(cells(r) for r in results)]
    measured = [row for row in rows if row[4]]  # a note in the place of numbers may be long
    widths = [max(len(row[0]) for row in rows), *(max(len(row[i]) for row in measured) for i in range(1, len(COLUMNS)))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """A table for the README."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(cells(r)) + " |" for r in results]
    return "\n".join(lines)
