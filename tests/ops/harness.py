"""What every op's test shares: values against NumPy, strides, in-place form, gradients, SBP signatures.

    check(tw.sin, np.sin, [sample((3, 4)), sample((0,))])
    check(tw.sum, lambda x, dim: x.sum(dim), [sample((3, 4), dim=1)])

A sample's arrays are float64; they are converted to each dtype tested. Gradients of first and second order are checked
in float64 against finite differences. Every SBP signature that a registered op offers for the sample is run shard by
shard on 2 and 3 virtual devices and must give the unsharded result and gradients. With THALWEG_TEST_DEVICE all of
that is left out, and the samples are compared with the CPU instead (on_device.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import on_device
import sharded
import thalweg as tw
from tolerance import assert_close


@dataclass
class Sample:
    """Arguments of one call: arrays become tensors, the rest is passed on."""

    args: tuple
    kwargs: dict = field(default_factory=dict)

    def map(self, convert: Callable[[np.ndarray], Any]) -> tuple[list, dict]:
        """The arguments with every array converted."""
        return [_map(a, convert) for a in self.args], {k: _map(v, convert) for k, v in self.kwargs.items()}


def _map(value: Any, convert: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return convert(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(_map(v, convert) for v in value)
    return value


def array(shape: Sequence[int], low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Random float64 numbers in [low, high), the same for the same arguments."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, tuple(shape))


def sample(*shapes: Any, low: float = -2.0, high: float = 2.0, **kwargs: Any) -> Sample:
    """A sample with a random array for each shape; what is no tuple is an argument as it is."""
    args = [array(s, low, high, seed=i) if isinstance(s, tuple) else s for i, s in enumerate(shapes)]
    return Sample(tuple(args), kwargs)


def to_tensor(value: np.ndarray, dtype: str, requires_grad: bool = False) -> tw.Tensor:
    """Floating arrays in the given dtype, others as they are."""
    t = tw.tensor(value)
    if t.dtype.is_floating_point or t.dtype.is_complex:
        t = t.to(getattr(tw, dtype))
        if requires_grad:
            t.requires_grad_()
    return t


def strided(value: np.ndarray, dtype: str) -> tw.Tensor:
    """The same values in memory with gaps and another order of dims."""
    dense = to_tensor(value, dtype)
    if dense.ndim == 0:
        return tw.stack([dense, dense])[0]
    wide = tw.stack([dense, dense], -1)
    return wide.transpose(0, -2).contiguous().transpose(0, -2)[..., 0]


def check(
    function: Callable,
    reference: Callable,
    samples: Sequence[Sample],
    *,
    grad: bool = True,
    second: bool = True,
    inplace: str | None = None,
    dtypes: Sequence[str] = ("float32", "float64"),
    sbp: bool = True,
    exact: bool = True,
) -> None:
    """Runs all checks; `inplace` names the Tensor method that writes into its first argument.

    With exact=False the compiled function may differ from the function in the last bits: for products whose operands
    lie in memory in another order, which BLAS then sums in another order.
    """
    if on_device.DEVICE:
        return on_device.check(function, samples, grad, inplace, exact, sbp)
    for number, s in enumerate(samples):
        what = f"sample {number}"
        args, kwargs = s.map(lambda a: a)
        expected = reference(*args, **kwargs)
        for dtype in dtypes:
            args, kwargs = s.map(lambda a, d=dtype: to_tensor(a, d))
            assert_close(function(*args, **kwargs), expected, dtype, f"{what} in {dtype}")
            args, kwargs = s.map(lambda a, d=dtype: strided(a, d))
            assert_close(function(*args, **kwargs), expected, dtype, f"{what} in {dtype}, strided")
            if inplace:
                args, kwargs = s.map(lambda a, d=dtype: to_tensor(a, d))
                assert getattr(args[0], inplace)(*args[1:], **kwargs) is args[0]
                assert_close(args[0], expected, dtype, f"{what} in {dtype}, in place")
        check_compiled(function, s, grad, exact, what)
        if grad:
            check_gradients(function, s, second)
        if sbp:
            args, kwargs = s.map(lambda a: to_tensor(a, "float64"))
            sharded.check_signatures(function, args, kwargs, grad)


def check_compiled(function: Callable, s: Sample, grad: bool, exact: bool, what: str) -> None:
    """The compiled function gives what the function gives, bit for bit, and so do the gradients of both."""

    def run(*args: Any, **kwargs: Any) -> list:
        outputs = [t for t in _flatten([function(*args, **kwargs)]) if isinstance(t, tw.Tensor)]
        wanted = [t for t in _flatten(args) + _flatten(list(kwargs.values())) if _requires_grad(t)]
        roots = [t for t in outputs if _requires_grad(t)] if grad else []
        if not roots or not wanted:
            return [t.detach() for t in outputs]
        seeds = [tw.ones_like(t) for t in roots]
        grads = tw.autograd.grad(roots, wanted, seeds, allow_unused=True)
        return [t.detach() for t in outputs] + [g for g in grads if g is not None]

    args, kwargs = s.map(lambda a: to_tensor(a, "float32", requires_grad=grad))
    expected = _seeded(run, args, kwargs)
    try:
        results = _seeded(tw.jit(run), args, kwargs)
    except RuntimeError as error:
        assert "depends on data" in str(error) or "traced function" in str(error), f"{what}, compiled: {error}"
        return
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        assert result.dtype == wanted.dtype, what
        if exact:
            np.testing.assert_array_equal(_bits(result), _bits(wanted), f"{what}, compiled")
        else:
            assert_close(result, _bits(wanted), "float32", f"{what}, compiled")


def _requires_grad(value: Any) -> bool:
    return isinstance(value, tw.Tensor) and value.requires_grad


def _seeded(function: Callable, args: list, kwargs: dict) -> list:
    tw.manual_seed(0)
    return function(*args, **kwargs)


def _bits(tensor: tw.Tensor) -> np.ndarray:
    return (tensor.float() if tensor.dtype in (tw.bfloat16, tw.float16) else tensor).numpy()


def check_gradients(function: Callable, s: Sample, second: bool = True) -> None:
    """First and second derivatives in float64 against finite differences."""
    args, kwargs = s.map(lambda a: to_tensor(a, "float64", requires_grad=True))
    tensors = [t for t in _flatten(args) + _flatten(list(kwargs.values())) if isinstance(t, tw.Tensor)]
    wanted = [t for t in tensors if t.requires_grad]
    if not any(t.numel() for t in wanted):
        return

    def call(*_: tw.Tensor) -> Any:
        return function(*args, **kwargs)

    assert tw.autograd.gradcheck(call, wanted)
    if second:
        assert tw.autograd.gradgradcheck(call, wanted, atol=1e-4)


def _flatten(items: Sequence) -> list:
    out = []
    for item in items:
        out.extend(_flatten(item) if isinstance(item, (list, tuple)) else [item])
    return out
