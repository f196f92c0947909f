"""One model on every placement, eager and as a program, in one process and in several: the losses of one device.

By day a few of those in several processes run some steps (tests/python/global_/test_training.py has those in one); with
THALWEG_NIGHTLY=1 all combinations run 50.
"""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import small_gpt
from launching import launch_command, program_environment

NIGHTLY = bool(os.environ.get("THALWEG_NIGHTLY"))
STEPS = 50 if NIGHTLY else 12
TOLERANCE = 5e-6  # the sums of parts are rounded in another order, and steps carry that on
RANKS = {"dp2": 2, "tp2": 2, "dp4": 4, "tp4": 4, "tp4 of 6 heads": 4, "2x2": 4}
COMBINATIONS = [
    (name, mode, processes) for name, ranks in RANKS.items() for mode in ("eager", "graph") for processes in (1, ranks)
]
BY_DAY = [("dp2", "graph", 2), ("tp2", "eager", 2), ("2x2", "graph", 4), ("tp4 of 6 heads", "graph", 4)]
CHOSEN = COMBINATIONS if NIGHTLY else BY_DAY


@functools.cache
def found(processes):
    """What the chosen combinations of so many processes print, by name and mode."""
    runs = [(name, mode) for name, mode, count in CHOSEN if count == processes]
    devices = max(RANKS[name] for name, _ in runs) if processes == 1 else 0
    settings = json.dumps({"devices": devices, "steps": STEPS, "runs": runs})
    program = [sys.executable, small_gpt.__file__, settings]
    command = program if processes == 1 else launch_command(small_gpt.__file__, processes, settings)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=program_environment())
    assert done.returncode == 0, done.stderr
    lines = [line[line.index("{") :] for line in done.stdout.splitlines() if "{" in line]
    results = map(json.loads, lines)
    return {(one["name"], one["mode"]): one for one in results}


@functools.cache
def alone(heads):
    return small_gpt.train(None, STEPS, heads=heads)


@pytest.mark.parametrize("name, mode, processes", CHOSEN)
def test_losses_and_masks_are_those_of_one_device(name, mode, processes):
    curve, masks, _ = alone(small_gpt.PLANS[name].heads)
    one = found(processes)[name, mode]
    np.testing.assert_allclose(one["curve"], curve, rtol=TOLERANCE, atol=TOLERANCE)
    assert one["masks"] == masks


def test_so_is_the_program_of_one_device():
    curve, masks, _ = alone(6)
    compiled, compiled_masks, _ = small_gpt.train(None, STEPS, graph=True)
    np.testing.assert_allclose(compiled, curve, rtol=TOLERANCE, atol=TOLERANCE)
    assert compiled_masks == masks
