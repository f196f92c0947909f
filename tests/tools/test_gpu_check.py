"""The parts of tools/gpu_check.py, on a machine without a GPU: limits, what is reported, what is run."""

import json
import subprocess
import sys
import time
from pathlib import Path

import gpu_check
import pytest

# A part that hangs: it ignores what asks it to end, as does a child in a session of its own, whose parent has left.
HANGS = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
keep = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)"
subprocess.Popen(["setsid", "--fork", sys.executable, "-c", keep, sys.argv[1]])
while not pathlib.Path(sys.argv[1]).exists() or not pathlib.Path(sys.argv[1]).read_text():
    time.sleep(0.01)
print("begun", flush=True)
time.sleep(600 if sys.argv[2] == "hang" else 0)
"""


def is_gone(process):
    """Whether a process has ended, or does so in a moment."""
    for _ in range(100):
        status = Path(f"/proc/{process}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(("how", "limit_s", "state"), [("hang", 3.0, "stopped"), ("end", 60.0, "ok")])
def test_nothing_that_a_part_started_outlives_it(tmp_path, how, limit_s, state):
    mark = tmp_path / "pid"
    start = time.monotonic()
    outcome = gpu_check.run_part("slow", [sys.executable, "-c", HANGS, str(mark), how], limit_s)
    assert time.monotonic() - start < 30
    assert (outcome.state, outcome.output) == (state, "begun\n")
    assert is_gone(int(mark.read_text()))


def test_parts_after_one_that_hangs_run_until_the_time_is_over(tmp_path, monkeypatch, capsys):
    def parts(out, wheels, arch):
        assert arch == "90a"
        return {
            "build": (3.0, [sys.executable, "-c", HANGS, str(out / "pid"), "hang"], {}),
            "tests": (60.0, [sys.executable, "-c", "print('tested')"], {}),
            "kernels": (60.0, [sys.executable, "-c", "import time; time.sleep(600)"], {}),
            "steps": (60.0, [sys.executable, "-c", "print('stepped')"], {}),
        }

    monkeypatch.setattr(gpu_check, "query_gpu", lambda: {"name": "GPU", "compute_cap": "9.0"})
    monkeypatch.setattr(gpu_check, "commands", parts)
    start = time.monotonic()
    assert gpu_check.main(["--out", str(tmp_path), "--minutes", "0.15"]) == 1
    assert time.monotonic() - start < 60
    told = json.loads((tmp_path / "gpu_check.json").read_text())["parts"]
    assert [(part["name"], part["state"]) for part in told] == [
        ("build", "stopped"),
        ("tests", "ok"),
        ("kernels", "stopped"),
        ("steps", "skipped"),
    ]
    assert told[1]["output"] == "tested\n" and told[0]["seconds"] >= 3
    text = (tmp_path / "gpu_check.txt").read_text()
    assert "build: stopped after" in text and "begun" in text and "steps: skipped" in text
    assert text in capsys.readouterr().out


def test_parts_that_end_say_how():
    assert gpu_check.run_part("good", [sys.executable, "-c", "print(1)"], 60).state == "ok"
    bad = gpu_check.run_part("bad", [sys.executable, "-c", "import os; print(os.environ['A']); 1 / 0"], 60, {"A": "b"})
    assert bad.state == "failed" and bad.output.startswith("b\n") and "ZeroDivisionError" in bad.output
    none = gpu_check.run_part("none", ["/not/there/python"], 60)
    assert none.state == "failed" and "/not/there/python" in none.output


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
