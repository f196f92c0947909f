"""Tests of the CUDA backend: on a GPU, or on the emulator, which `make test-cuda` builds."""

import subprocess
import textwrap

import pytest
import thalweg as tw
from launching import HEAD, Outcome, launch_command, program_environment

# Each process has one emulated device.
START = """
import functools
from thalweg._core import _native
if emulator := os.environ.get("THALWEG_CUDA_EMULATOR"): assert not _native.load_accelerator(emulator)
gpu = tw.device("cuda", rank)
zeros, ones, arange = (functools.partial(f, device=gpu) for f in (tw.zeros, tw.ones, tw.arange))
S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
"""


@pytest.fixture
def four_devices():
    """This process is cut into four ranks, each with a device."""
    tw.env.init(devices_per_process=4)
    yield
    tw.env.init()


@pytest.fixture
def ranks(tmp_path):
    """Runs a program in several processes."""

    def run(processes: int, code: str, timeout: float = 120, head: str = HEAD) -> Outcome:
        script = tmp_path / "program.py"
        script.write_text(head + START + textwrap.dedent(code), encoding="utf-8")
        done = subprocess.run(
            launch_command(script, processes),
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**program_environment(), "THALWEG_EMULATED_DEVICES": str(processes)},
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


def pytest_collection_modifyitems(items):
    if tw.cuda.is_available():
        return
    reason = (
        f"no CUDA devices: {tw.cuda.why_unavailable()} THALWEG_CUDA_EMULATOR may name the emulator (make test-cuda)."
    )
    for item in items:
        if "/tests/cuda/" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason=reason))
