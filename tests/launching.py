"""Programs on several processes, for tests of the launcher and of what runs under it."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import thalweg


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def launch_command(script, processes: int | str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    launcher = [sys.executable, "-m", "thalweg", "run", "--nproc", str(processes), *options]
    return [*launcher, str(script), *arguments]


def program_environment() -> dict[str, str]:
    package = str(Path(thalweg.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])}


HEAD = """
import os, signal, sys, time
import thalweg as tw
import thalweg.distributed as dist
dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
"""
