"""thalweg run: a program on several processes."""

from __future__ import annotations

import argparse
from typing import Any

from thalweg.distributed.launch import add_options, launch

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """Adds the command to a parser's."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="run a program on several processes",
        description="Starts a Python program on several processes, which find each other; on several machines it is "
        "run on each. Output appears with the rank in front; when one process fails, the others are ended, and its "
        "error comes last.",
    )
    add_options(parser)
    parser.set_defaults(run=launch)
