"""The parts of tools/gpu_check.py, on a machine without a GPU: limits, what is reported, what is run."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import gpu_check
import pytest


def test_a_part_that_runs_over_its_limit_is_stopped_with_what_it_started(tmp_path):
    mark = tmp_path / "pid"
    script = f"echo begun; sleep 60 & echo $! > {mark}; wait"
    start = time.monotonic()
    outcome = gpu_check.run_part("slow", ["bash", "-c", script], 1.0)
    assert time.monotonic() - start < 20
    assert (outcome.state, outcome.output) == ("stopped", "begun\n")
    with pytest.raises(ProcessLookupError):
        for _ in range(100):  # the kernel may take a moment
            os.kill(int(mark.read_text()), 0)
            time.sleep(0.05)


def test_parts_that_end_say_how():
    assert gpu_check.run_part("good", [sys.executable, "-c", "print(1)"], 60).state == "ok"
    bad = gpu_check.run_part("bad", [sys.executable, "-c", "import os; print(os.environ['A']); 1 / 0"], 60, {"A": "b"})
    assert bad.state == "failed" and bad.output.startswith("b\n") and "ZeroDivisionError" in bad.output


def test_the_report_holds_tables_and_the_output_of_what_failed(tmp_path):
    row = {"name": "add", "threads": 1, "target": 1.0, "unit": "s", "ours": 1e-3, "peer": None, "peer_name": ""}
    row |= {"ratio": None, "floor_ratio": 1.25, "floor_text": "a copy", "met": False, "note": ""}
    (tmp_path / "kernels.json").write_text(json.dumps([row]))
    outcomes = [gpu_check.Outcome("build", "ok", 1.0, "fine"), gpu_check.Outcome("tests", "failed", 2.0, "1 failed")]
    text = gpu_check.report(tmp_path, {"name": "GPU"}, outcomes)
    assert "tests: failed after 2.0 s" in text and "1 failed" in text and "fine" not in text
    assert "1.25 x a copy" in text and "1 ms" in text
    whole = json.loads((tmp_path / "gpu_check.json").read_text())
    assert [part["state"] for part in whole["parts"]] == ["ok", "failed"] and whole["kernels"] == [row]


def test_all_parts_fit_into_eight_minutes_and_their_tests_exist():
    parts = gpu_check.commands(Path("/out"), Path("/wheels"), gpu_check.architecture("9.0"))
    assert sum(limit_s for limit_s, _, _ in parts.values()) <= 8 * 60
    named = [word for word in parts["tests"][1] if word.startswith("tests/")]
    assert named and all((gpu_check.ROOT / name).exists() for name in named)
    build = parts["build"][1][-1]
    assert subprocess.run(["bash", "-n", "-c", build], check=False).returncode == 0
    assert "THALWEG_CUDA_ARCHS=90a" in build and "--no-index --find-links /wheels" in build


def test_without_a_gpu_a_sentence_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="gpu_check: nvidia-smi finds no GPU"):
        gpu_check.main([])
