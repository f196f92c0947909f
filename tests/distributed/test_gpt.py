"""The GPT example on several processes: the losses of one device."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from launching import launch_command, program_environment

ROOT = Path(__file__).parents[2]
SETTINGS = (
    "--steps 8 --batch 4 --context 16 --width 16 --layers 2 --heads 2 --dropout 0.2 --lr 0.02 --warmup 3 "
    "--eval-every 4 --eval-batches 2 --sample 5"
).split()


@pytest.mark.parametrize(
    "processes, options",
    [
        (2, "--mesh 2 --plan dp"),
        (3, "--mesh 3 --plan tp"),
        (4, "--mesh 2x2 --plan dp,tp"),
        (2, "--mesh 2 --plan tp --graph"),
        (4, "--mesh 2x2 --plan dp,tp --graph"),
    ],
)
def test_losses_are_those_of_one_device(tmp_path, processes, options):
    book = tmp_path / "book.txt"
    book.write_text("the quick brown fox jumps over the lazy dog, and " * 400)
    script = ROOT / "examples/train_gpt.py"

    def losses(command, *more):
        out = tmp_path / f"run{len(more)}"
        done = subprocess.run(
            [*command, *SETTINGS, "--data", str(book), "--out", str(out), *more],
            capture_output=True, text=True, timeout=200, env=program_environment(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads((out / "checkpoint/index.json").read_text())["tree"]["losses"]

    one = losses([sys.executable, os.fspath(script)])
    several = losses(launch_command(script, processes), *options.split())
    np.testing.assert_allclose(several, one, rtol=2e-5)
