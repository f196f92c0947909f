"""Puts the table of a benchmark run into README.md: `python tools/bench/readme.py out.json`.

It replaces what stands between the two marker lines.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.machine import BUSY  # noqa: E402
from bench.table import markdown  # noqa: E402

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
README = Path(__file__).resolve().parents[2] / "README.md"


def section(report: dict) -> str:
    """What stands between the markers."""
    machine, versions = report["machine"], report["versions"]
    where = f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, torch {versions['torch']}"
    doubt = f" The machine was busy (load {machine['load']}): read the numbers with doubt."
    busy = doubt if machine["load"] > BUSY else ""
    note = f"Medians over {report['rounds']} interleaved rounds; in brackets the quartiles. {where}.{busy}"
    return f"{BEGIN}\n{note}\n\n{markdown(report['results'])}\n{END}"


def replaced(readme: str, text: str) -> str:
    """The README with a new section; ValueError where the markers are missing."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"readme: the lines {BEGIN} and {END} are wanted in {README.name}")
    return before + text + after


def main(path: str) -> None:
    """Rewrites the README."""
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    README.write_text(replaced(README.read_text(encoding="utf-8"), section(report)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
