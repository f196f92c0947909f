"""The rows that tools/gpu_check.py measures run on a GPU, at sizes that the emulator computes quickly."""

import pytest
from bench.frameworks import OURS
from bench.gpu import kernels, run, steps
from bench.gpu.device import GpuFramework
from bench.models import gpt
from bench.rows import Context

TINY = kernels.Size(rows=8, columns=32, product=16, batch=1, heads=2, length=16)


@pytest.fixture
def alone(monkeypatch):
    """Measurements without a peer."""
    monkeypatch.setattr(run, "context", lambda: Context({OURS: GpuFramework(OURS)}, None, 1))


@pytest.mark.usefixtures("alone")
def test_every_kernel_is_measured():
    results = list(run.measured(kernels.rows(TINY), 600, rounds=1))
    assert {r.name: r.note for r in results if r.ours is None} == {}
    assert all(r.floor_ratio > 0 for r in results if not r.name.startswith(("launch", "matmul")))


@pytest.mark.usefixtures("alone")
def test_a_small_gpt_is_measured(monkeypatch):
    small = {"LAYERS": 1, "WIDTH": 16, "HEADS": 2, "CONTEXT": 8, "VOCABULARY": 11, "BATCH": 2}
    for name, value in small.items():
        monkeypatch.setattr(gpt, name, value)
    results = list(run.measured(steps.rows()[:3], 600, rounds=1))
    assert [(r.ours > 0, r.note) for r in results] == [(True, "")] * 3


def test_rows_without_time_say_so(monkeypatch):
    monkeypatch.setattr(run, "context", lambda: None)
    assert [r.note for r in run.measured(steps.rows(), -1)] == ["no time was left"] * 6
