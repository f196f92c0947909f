"""Finds the command that is asked for, and turns its failures into a sentence and exit code 1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from thalweg.cli import run, show

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; `arguments` are those of the process unless given. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="thalweg", description="A deep-learning framework.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    run.add_to(commands)
    show.add_to(commands)
    options = parser.parse_args(arguments)
    try:
        return options.run(options) or 0
    except (OSError, ValueError, TypeError, IndexError) as error:
        print(f"thalweg: {error}", file=sys.stderr)
        return 1
