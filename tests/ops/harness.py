"""What every op's test shares: values against NumPy, strides, in-place form, gradients, SBP signatures.

    check(tw.sin, np.sin, [sample((3, 4)), sample((0,))])
    check(tw.sum, lambda x, dim: x.sum(dim), [sample((3, 4), dim=1)])

A sample's arrays are float64; they are converted to each dtype tested. Gradients of first and second order are checked
in float64 against finite differences. Every SBP signature that a registered op offers for the sample is run shard by
shard on 2 and 3 virtual devices and must give the unsharded result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import thalweg as tw

TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 2e-5,
    "float64": 1e-11,
    "complex64": 2e-5,
    "complex128": 1e-11,
}

# Ops whose attributes hold sizes or positions of the whole tensor: their shards need other attributes.
SIZED_ATTRIBUTES = {"size", "shape", "input_size", "sizes", "output_size"}


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


def to_array(t: Any) -> Any:
    """Tensors as NumPy arrays; half types as float32."""
    if isinstance(t, (tuple, list)):
        return [to_array(item) for item in t]
    if not isinstance(t, tw.Tensor):
        return t
    t = t.detach()
    return t.float().numpy() if t.dtype in (tw.float16, tw.bfloat16) else t.numpy()


def assert_close(got: Any, expected: Any, dtype: str, what: str) -> None:
    """Compares values and shapes within the tolerance of the dtype."""
    if isinstance(got, (tuple, list)):
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_close(g, e, dtype, f"{what}, output {i}")
        return
    expected = np.asarray(to_array(expected))
    got = np.asarray(to_array(got))
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    tolerance = TOLERANCE.get(dtype, 0.0)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=what)


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
) -> None:
    """Runs all checks; `inplace` names the Tensor method that writes into its first argument."""
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
        if grad:
            check_gradients(function, s, second)
        if sbp:
            check_signatures(function, s)


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


def check_signatures(function: Callable, s: Sample) -> None:
    """Each signature of a registered op, on 2 and 3 devices, against the whole result."""
    if not hasattr(function, "signatures"):
        return
    args, kwargs = s.map(lambda a: to_tensor(a, "float64"))
    names = {name for name, _ in _params(function)}
    if names & SIZED_ATTRIBUTES:
        return
    try:
        signatures = function.signatures(*args, **kwargs)
    except ValueError:  # a composite
        return
    whole = function(*args, **kwargs)
    for signature in signatures:
        for devices in (2, 3):
            _check_signature(function, args, kwargs, whole, signature, devices)


def _params(function: Callable) -> list:
    return next(info["params"] for info in tw._core._native.registry() if info["name"] == function.__name__)


def _check_signature(function: Callable, args: list, kwargs: dict, whole: Any, signature: tuple, devices: int) -> None:
    inputs, outputs = signature
    layouts = iter(inputs)
    per_device: list[tuple[list, dict]] = [([], {}) for _ in range(devices)]

    def spread(value: Any) -> list:
        if isinstance(value, (list, tuple)) and any(isinstance(v, tw.Tensor) for v in value):
            pieces = [spread(v) for v in value]
            return [[piece[d] for piece in pieces] for d in range(devices)]
        if isinstance(value, tw.Tensor):
            return shards(value, next(layouts), devices)
        return [value] * devices

    # Layouts come in the schema's order: tensors given by keyword are looked up there.
    ordered = dict(zip((name for name, _ in _params(function)), args, strict=False)) | kwargs
    positional = len(args)
    for position, (name, type_text) in enumerate(_params(function)):
        if name not in ordered:
            if type_text.startswith("Tensor") and "[]" not in type_text:
                next(layouts)
            continue
        value = ordered[name]
        if type_text.startswith("Tensor") and not isinstance(value, (tw.Tensor, list, tuple)):
            next(layouts)  # absent, or a number
        for d, piece in enumerate(spread(value)):
            if position < positional:
                per_device[d][0].append(piece)
            else:
                per_device[d][1][name] = piece
    results = [function(*a, **k) for a, k in per_device]
    single = isinstance(whole, tw.Tensor)
    for i, layout in enumerate(outputs if not single else outputs[:1]):
        pieces = [r if single else r[i] for r in results]
        expected = whole if single else whole[i]
        assert_close(join(pieces, layout), expected, "float32", f"signature {signature} on {devices} devices")
        if not single and i + 1 == len(whole):
            break


def cut_points(size: int, devices: int, unit: int) -> list[int]:
    """Balanced cuts at multiples of `unit`; the first devices get one more."""
    units = size // unit
    base, extra = divmod(units, devices)
    cuts = [0]
    for d in range(devices):
        cuts.append(cuts[-1] + (base + (d < extra)) * unit)
    return cuts


def shards(t: tw.Tensor, layout: tuple, devices: int) -> list[tw.Tensor]:
    """What each device holds of a tensor laid out this way."""
    if layout[0] == "B":
        return [t.clone() for _ in range(devices)]
    if layout[0] == "S":
        _, dim, unit = layout
        cuts = cut_points(t.shape[dim], devices, unit)
        return [t.narrow(dim, a, b - a).clone() for a, b in zip(cuts, cuts[1:], strict=False)]
    rng = np.random.default_rng(1)
    whole = t.detach().numpy()
    if layout[1] == "sum":
        parts = [rng.uniform(-1, 1, whole.shape) for _ in range(devices - 1)]
        parts.append(whole - sum(parts))
    else:  # one device has the value, the others something that loses
        sign = -1.0 if layout[1] == "max" else 1.0
        holder = rng.integers(0, devices, whole.shape)
        parts = [np.where(holder == d, whole, whole + sign * rng.uniform(0, 2, whole.shape)) for d in range(devices)]
    return [tw.tensor(np.asarray(p, dtype=whole.dtype)) for p in parts]


def join(pieces: list[tw.Tensor], layout: tuple) -> tw.Tensor:
    """The logical tensor that shards of this layout stand for."""
    if layout[0] == "S":
        return tw.cat(pieces, layout[1])
    if layout[0] == "B":
        for piece in pieces[1:]:
            np.testing.assert_array_equal(to_array(piece), to_array(pieces[0]))
        return pieces[0]
    combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[layout[1]]
    total = to_array(pieces[0])
    for piece in pieces[1:]:
        total = combine(total, to_array(piece))
    return tw.tensor(total)
