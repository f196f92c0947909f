"""On a machine with a GPU: builds for it, tests the kernels against the CPU, measures them and training steps.

    python tools/gpu_check.py                             everything, within eight minutes
    python tools/gpu_check.py --wheels FOLDER             what is not installed comes from a folder, not from an index
    python tools/gpu_check.py --parts kernels steps       with what an earlier run has built in --out

Writes gpu_check.json and gpu_check.txt into --out (build/gpu). Every part has a time limit; what runs over it is
stopped with all that it started, and the parts after it run all the same. Exits 1 when a part is not "ok".
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from bench import table  # noqa: E402

TAIL = 4000  # characters of a part's output that the report keeps
OP_TESTS = ROOT / "tests" / "cuda" / "op_tests.txt"  # those that compare a device with the CPU
MARK = "THALWEG_GPU_CHECK_PART"  # in the environment of all that a part starts, in whatever session
DEATH_S = 5.0  # what killed processes have to end, which one that waits for a driver may not


@dataclass
class Outcome:
    """How a part went: "ok", "failed", "stopped" at its limit, or "skipped", since no time was left."""

    name: str
    state: str
    seconds: float
    output: str


def started_by(mark: str) -> list[int]:
    """The processes that live and have the mark in their environment."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if wanted in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
    return found


def kill_all(mark: str) -> list[int]:
    """Kills what has the mark, until there is none; those that have not ended in time."""
    end = time.monotonic() + DEATH_S
    while (left := started_by(mark)) and time.monotonic() < end:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
    return left


def run_part(name: str, command: Sequence[str], limit_s: float, environment: dict[str, str] | None = None) -> Outcome:
    """Runs a command for at most limit_s; then, and when it ends before, all that it started is killed."""
    if limit_s <= 0:
        return Outcome(name, "skipped", 0.0, "no time was left")
    start, mark = time.monotonic(), uuid.uuid4().hex
    # A file, not a pipe: what cannot be killed would keep a pipe open.
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | (environment or {}) | {MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            return Outcome(name, "failed", 0.0, f"{type(error).__name__}: {error}")
        try:
            state = "failed" if child.wait(limit_s) else "ok"
        except subprocess.TimeoutExpired:
            state = "stopped"
        left = kill_all(mark)
        if child.pid not in left:
            child.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    if left:
        text += f"\nprocesses that do not end: {left}"
    return Outcome(name, state, round(time.monotonic() - start, 1), text[-TAIL:])


def architecture(capability: str) -> str:
    """What THALWEG_CUDA_ARCHS is for a compute capability such as 9.0."""
    number = capability.replace(".", "")
    return number + "a" if number == "90" else number


def query_gpu() -> dict[str, str]:
    """Name, compute capability, driver and memory of the first GPU; exits with a sentence without one."""
    fields = ["name", "compute_cap", "driver_version", "memory.total"]
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    try:
        line = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError) as error:
        sys.exit(f"gpu_check: nvidia-smi finds no GPU ({type(error).__name__}: {error})")
    return dict(zip(fields, (value.strip() for value in line.split(",")), strict=True))


def build_script(out: Path, wheels: Path | None, arch: str) -> str:
    """Shell lines that make an environment over the installed packages and install thalweg with CUDA into it."""
    python, source = out / "venv" / "bin" / "python", f"--no-index --find-links {wheels}" if wheels else ""
    return "\n".join(
        [
            "set -e",
            f"test -x {python} || {sys.executable} -m venv --system-site-packages {out}/venv",
            f"{python} tools/requirements.py build run test > {out}/requirements.txt",
            f"{python} -m pip install --quiet {source} cmake ninja -r {out}/requirements.txt",
            f"{python} tools/requirements.py nvrtc > {out}/requirements-nvrtc.txt",  # without it a test is skipped
            f"{python} -m pip install --quiet {source} -r {out}/requirements-nvrtc.txt || true",
            f"{python} -m pip uninstall --quiet --yes thalweg",  # a build that fails leaves nothing to test
            f"export PATH={out}/venv/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL={os.cpu_count()}",
            f"{python} -m pip install --no-build-isolation --no-deps --config-settings=build-dir={out}/build \\",
            f"  -C cmake.define.THALWEG_CUDA=ON -C cmake.define.THALWEG_CUDA_ARCHS={arch} .",
        ]
    )


def commands(out: Path, wheels: Path | None, arch: str) -> dict[str, tuple[float, list[str], dict[str, str]]]:
    """The parts in their order: the limit in seconds, the command, what is added to its environment."""
    python = str(out / "venv" / "bin" / "python")
    tests = ["tests/cuda", *OP_TESTS.read_text().split()]
    bench = {"PYTHONPATH": str(ROOT / "tools")}

    def measure(what: str, seconds: int) -> tuple[float, list[str], dict[str, str]]:
        command = [python, "-m", "bench.gpu.run", what, "--seconds", str(seconds), "--json", str(out / f"{what}.json")]
        return seconds + 25, command, bench

    return {
        "build": (240, ["bash", "-c", build_script(out, wheels, arch)], {}),
        "tests": (90, [python, "-m", "pytest", "-q", "-rs", *tests], {"THALWEG_TEST_DEVICE": "cuda"}),
        "kernels": measure("kernels", 50),
        "steps": measure("steps", 30),
    }


def report(out: Path, machine: dict[str, Any], outcomes: Sequence[Outcome]) -> str:
    """Writes the JSON and the text, and returns the text."""
    whole: dict[str, Any] = {"machine": machine, "parts": [asdict(o) for o in outcomes]}
    lines = [", ".join(f"{key} {value}" for key, value in machine.items())]
    lines += [f"{o.name}: {o.state} after {o.seconds} s" for o in outcomes]
    for what in ("kernels", "steps"):
        if (file := out / f"{what}.json").exists():
            whole[what] = json.loads(file.read_text())
            lines += ["", table.text(whole[what])]
    for outcome in outcomes:
        if outcome.state != "ok":
            lines += ["", f"{outcome.name}, the end of its output:", outcome.output]
    (out / "gpu_check.json").write_text(json.dumps(whole, indent=1))
    (out / "gpu_check.txt").write_text("\n".join(lines) + "\n")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--parts", nargs="+", choices=["build", "tests", "kernels", "steps"])
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    machine = query_gpu()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    wheels = options.wheels.resolve() if options.wheels else None
    outcomes: list[Outcome] = []
    for name, (limit_s, command, environment) in commands(out, wheels, architecture(machine["compute_cap"])).items():
        if options.parts and name not in options.parts:
            continue
        if name in ("kernels", "steps"):
            (out / f"{name}.json").unlink(missing_ok=True)  # of an earlier run
        outcomes.append(run_part(name, command, min(limit_s, end - time.monotonic()), environment))
    print(report(out, machine, outcomes))
    return any(outcome.state != "ok" for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
