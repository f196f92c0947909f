"""Property tests draw the same examples in every run, so that a failure is that of a change; nightly runs explore.

With THALWEG_CUDA_EMULATOR, the path of the emulated CUDA library, this process has CUDA devices: tests/cuda needs them,
and with THALWEG_TEST_DEVICE=cuda the op tests compare CUDA with the CPU instead of the CPU with NumPy.
"""

import os

import pytest
from hypothesis import settings
from thalweg._core import _native

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

if emulator := os.environ.get("THALWEG_CUDA_EMULATOR"):
    if why := _native.load_accelerator(emulator):
        pytest.exit(f"THALWEG_CUDA_EMULATOR: {why}", returncode=1)
