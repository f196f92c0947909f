"""Tests of the CUDA backend: on a GPU, or on the emulator, which `make test-cuda` builds."""

import pytest
import thalweg as tw


def pytest_collection_modifyitems(items):
    if tw.cuda.is_available():
        return
    reason = (
        f"no CUDA devices: {tw.cuda.why_unavailable()} THALWEG_CUDA_EMULATOR may name the emulator (make test-cuda)."
    )
    for item in items:
        if "/tests/cuda/" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason=reason))
