"""The op tests on another device: THALWEG_TEST_DEVICE=cuda compares its results and gradients with the CPU's.

THALWEG_TEST_DTYPES names the dtypes, separated by commas; float32 and bfloat16 unless it is set. Where the device has
no kernel for an op, or none for the dtype, the rest is compared and a warning says what was not; a check that could
compare nothing is a skip. The compiled function is held against the function there, in float32.

Of the calls of ops that a sample is made of, one in SHARDED runs in every SBP signature that its op offers, each part
on another of the devices; with THALWEG_SBP=all every call does.
"""

import itertools
import os
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import sharded
import thalweg as tw
from calls import calls_of
from tolerance import assert_close

DEVICE = os.environ.get("THALWEG_TEST_DEVICE", "")
DTYPES = os.environ.get("THALWEG_TEST_DTYPES", "float32,bfloat16").split(",")

SHARDED = 20


class MissingKernel(UserWarning):
    """A part of a check that the device cannot run yet."""


class CallThere(sharded.Call):
    """A call of which every part runs on the next device."""

    devices = itertools.cycle(range(tw.cuda.device_count() or 1))

    def run(self, tensors: list, *places: list | None) -> list:
        device = tw.device("cuda", next(self.devices))
        there = [t if t is None else t.to(device) for t in tensors]
        results = super().run(there, *places)
        assert all(t.device == device for t in results), f"{self.key()}: not all results lie on {device}"
        return [t.cpu() for t in results]


def check_signatures(function: Callable, args: list, kwargs: dict, grad: bool) -> None:
    """The signatures of the ops that a call is made of, against the whole on the CPU."""
    for op, call_args, call_kwargs in calls_of(function, args, kwargs, grad):
        on_cpu = sharded.Call(op, call_args, call_kwargs)
        if all(t is None for t in on_cpu.inputs):  # what is made of nothing lies where it is told to
            continue
        if not sharded.ALL and zlib.crc32(on_cpu.key().encode()) % SHARDED:
            continue
        there = CallThere(op, call_args, call_kwargs)
        for found, expected in zip(there.outputs, on_cpu.outputs, strict=True):
            assert_close(found, _values(expected), "float32", f"{there.key()} on {DEVICE}")
        sharded.check_offered(there, grad)


def check(function: Callable, samples: Sequence, grad: bool, inplace: str | None, exact: bool, sbp: bool) -> None:
    """Every sample, dense and strided, in every dtype; forward, in place and backward. Then the SBP signatures."""
    missing, compared = set(), 0
    for number, s in enumerate(samples):
        for dtype in DTYPES:
            for gaps in (False, True):
                what = f"sample {number} in {dtype}{', strided' if gaps else ''}"
                try:
                    _compare(function, s, dtype, grad, gaps, what)
                    if dtype == "float32" and not gaps:
                        _compare_compiled(function, s, grad, exact, what)
                    if inplace and not gaps:
                        _compare(_written(inplace), s, dtype, False, gaps, f"{what}, in place")
                    compared += 1
                except NotImplementedError as error:
                    text = str(error)
                    if "no kernel for device" not in text and "is not supported" not in text:
                        raise
                    missing.add(text)
        if sbp and not missing:
            check_signatures(function, *s.map(lambda a: _tensor(a, "float64")), grad)
    if missing and not compared:
        pytest.skip("; ".join(sorted(missing)))
    for text in sorted(missing):
        warnings.warn(text, MissingKernel, stacklevel=3)


def _written(inplace: str) -> Callable:
    return lambda first, *args, **kwargs: getattr(first.clone(), inplace)(*args, **kwargs)


def _compare(function: Callable, s: Any, dtype: str, grad: bool, gaps: bool, what: str) -> None:
    try:
        expected = _run(function, s, dtype, grad, gaps, "cpu")
    except (RuntimeError, NotImplementedError):
        if dtype in ("float32", "float64"):
            raise
        return  # the CPU refuses this dtype, too
    results = _run(function, s, dtype, grad, gaps, DEVICE)
    assert len(results) == len(expected), what
    for result, wanted in zip(results, expected, strict=True):
        assert result.device.type == DEVICE and result.dtype == wanted.dtype and result.shape == wanted.shape, what
        assert_close(result.cpu(), _values(wanted), dtype, what)


def _compare_compiled(function: Callable, s: Any, grad: bool, exact: bool, what: str) -> None:
    """What the compiled function gives is what the function gives, bit for bit where the order of sums is the same."""
    expected = _run(function, s, "float32", grad, False, DEVICE)
    try:
        results = _run(function, s, "float32", grad, False, DEVICE, tw.jit)
    except RuntimeError as error:
        if "depends on data" not in str(error) and "traced function" not in str(error):
            raise
        return
    assert len(results) == len(expected), f"{what}, compiled"
    for result, wanted in zip(results, expected, strict=True):
        assert result.device == wanted.device and result.dtype == wanted.dtype, f"{what}, compiled"
        if exact:
            np.testing.assert_array_equal(_values(result.cpu()), _values(wanted.cpu()), f"{what}, compiled")
        else:
            assert_close(result.cpu(), _values(wanted.cpu()), "float32", f"{what}, compiled")


def _tensor(value: np.ndarray, dtype: str) -> tw.Tensor:
    tensor = tw.tensor(value)
    return tensor.to(getattr(tw, dtype)) if tensor.dtype.is_floating_point else tensor


def _values(tensor: tw.Tensor) -> np.ndarray:
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype in (tw.bfloat16, tw.float16) else tensor).numpy()


def _run(
    function: Callable, s: Any, dtype: str, grad: bool, gaps: bool, device: str, wrap: Callable = lambda f: f
) -> list[tw.Tensor]:
    """Outputs and gradients of one call; `wrap` is put around what computes them."""

    def convert(value: np.ndarray) -> tw.Tensor:
        tensor = _tensor(value, dtype)
        if gaps and tensor.ndim:
            tensor = tw.stack([tensor, tensor], -1).to(device)[..., 0]
        tensor = tensor.to(device)
        return tensor.detach().requires_grad_() if grad and tensor.dtype.is_floating_point else tensor

    def run(*args: Any, **kwargs: Any) -> list[tw.Tensor]:
        outputs = [t for t in _flatten([function(*args, **kwargs)]) if isinstance(t, tw.Tensor)]
        given = [t for t in _flatten([*args, *kwargs.values()]) if isinstance(t, tw.Tensor)]
        leaves = [t for t in given if t.requires_grad]
        roots = [t for t in outputs if t.requires_grad]
        results = [t.detach() for t in outputs]
        if roots and leaves:
            grads = tw.autograd.grad(roots, leaves, [tw.ones_like(t) for t in roots], allow_unused=True)
            results += [g for g in grads if g is not None]
        return results

    args, kwargs = s.map(convert)
    tw.manual_seed(0)
    return wrap(run)(*args, **kwargs)


def _flatten(items: Sequence) -> list:
    out = []
    for item in items:
        out.extend(_flatten(item) if isinstance(item, (list, tuple)) else [item])
    return out
