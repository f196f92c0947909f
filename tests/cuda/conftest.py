"""Tests of the CUDA backend run on the emulator, which `make test-cuda` builds."""

import os

import pytest


def pytest_collection_modifyitems(items):
    if os.environ.get("THALWEG_CUDA_EMULATOR"):
        return
    reason = "no CUDA devices: THALWEG_CUDA_EMULATOR names no library (make test-cuda)"
    for item in items:
        if "/tests/cuda/" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason=reason))
