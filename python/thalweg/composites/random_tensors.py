"""Random tensors: creation functions and in-place fills. All take generator=, the global one if None.

The same seed and order of calls give the same numbers, whatever the number of threads.
"""

from functools import partial
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, dtype, op
from thalweg._registry import export, ops
from thalweg.autograd.modes import is_grad_enabled, no_grad
from thalweg.composites.support import is_inexact, require_none
from thalweg.frontend.creation import creation_size, default_dtype
from thalweg.frontend.device import Device, moved, name_of
from thalweg.frontend.dtypes import float64, int64
from thalweg.frontend.from_data import finish
from thalweg.frontend.global_creation import beside, created, created_like, like
from thalweg.frontend.layout import check_layout, empty_in_format
from thalweg.frontend.placement import Sbp, placement
from thalweg.frontend.random import Generator

_fill_uniform, _fill_normal, _fill_integers = op("uniform", True), op("normal", True), op("random_integers", True)

# The largest range random_() fills for each kind of dtype: all its values, or the whole numbers that a float holds.
_MANTISSA_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_INT_BITS = {"bool": 1, "uint8": 8, "int8": 7, "int16": 15, "int32": 31, "int64": 63}


def _new(name: str, size: tuple, dtype: dtype | None, device: Device) -> Tensor:
    where = name_of(device, name)
    sizes = creation_size(size, name)
    if where == "cpu":
        return _native.empty(sizes, default_dtype(dtype))
    with _native.Placed(where):
        return _native.empty(sizes, default_dtype(dtype))


@export(function=True)
def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    layout: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """Numbers spread evenly over [0, 1).

    >>> import thalweg as tw
    >>> tw.rand(2, 3).shape
    thalweg.Size([2, 3])
    """
    check_layout(layout, "rand")
    if placement is not None or sbp is not None:
        sizes = creation_size(size, "rand")
        make = partial(rand, sizes, generator=generator, dtype=dtype)
        return created("rand", make, placement, sbp, requires_grad, len(sizes))
    return finish(_fill_uniform(_new("rand", size, dtype, device), generator=generator), requires_grad)


@export(function=True)
def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    layout: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """Normally distributed numbers of mean 0 and variance 1; complex ones have independent parts of variance 1/2."""
    check_layout(layout, "randn")
    if placement is not None or sbp is not None:
        sizes = creation_size(size, "randn")
        make = partial(randn, sizes, generator=generator, dtype=dtype)
        return created("randn", make, placement, sbp, requires_grad, len(sizes))
    return finish(_fill_normal(_new("randn", size, dtype, device), generator=generator), requires_grad)


@export(function=True)
def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """Whole numbers spread evenly over [low, high): randint(high, size) or randint(low, high, size).

    Raises:
        RuntimeError: an empty range.
    """
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint: argument size is missing")
    check_layout(layout, "randint")
    if placement is not None or sbp is not None:
        sizes = creation_size((size,), "randint")
        make = partial(randint, low, high, sizes, generator=generator, dtype=dtype)
        return created("randint", make, placement, sbp, requires_grad, len(sizes))
    target = _new("randint", (size,), dtype or int64, device)
    return finish(_fill_integers(target, low, high, generator=generator), requires_grad)


@export(function=True)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: dtype = int64,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    layout: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    check_layout(layout, "randperm")
    if placement is not None or sbp is not None:
        make = partial(randperm, n, generator=generator, dtype=dtype)
        return created("randperm", make, placement, sbp, requires_grad)
    result = ops.random_permutation(n, generator=generator)
    result = moved(result if dtype == int64 else ops.cast(result, dtype), device, "randperm")
    return finish(result, requires_grad)


def _laid_like(draws: Tensor, input: Tensor, memory_format: Any, name: str) -> Tensor:
    """`draws` in a memory format, by default in the order of `input`; the numbers are the same in any order."""
    if memory_format is None and input.is_contiguous():
        return draws
    with beside(draws):
        laid = empty_in_format(input, draws.dtype, memory_format, name)
    return op("copy", True)(laid, draws)


def _beside(input: Tensor, device: Device) -> Device:
    """The device that is asked for, else that of `input`."""
    return input.device if device is None else device


@export(function=True)
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    layout: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """rand() with the size and dtype of `input`."""
    check_layout(layout, "rand_like")
    if placement is not None or sbp is not None or _native.is_global(input):
        make = partial(rand, input.shape, generator=generator, dtype=dtype or input.dtype)
        return created_like("rand_like", make, input, placement, sbp, requires_grad)
    place = _beside(input, device)
    result = rand(input.shape, generator=generator, dtype=dtype or input.dtype, device=place)
    return finish(_laid_like(result, input, memory_format, "rand_like"), requires_grad)


@export(function=True)
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    layout: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """randn() with the size and dtype of `input`."""
    check_layout(layout, "randn_like")
    if placement is not None or sbp is not None or _native.is_global(input):
        make = partial(randn, input.shape, generator=generator, dtype=dtype or input.dtype)
        return created_like("randn_like", make, input, placement, sbp, requires_grad)
    place = _beside(input, device)
    result = randn(input.shape, generator=generator, dtype=dtype or input.dtype, device=place)
    return finish(_laid_like(result, input, memory_format, "randn_like"), requires_grad)


@export(function=True)
def randint_like(
    input: Tensor,
    low: int,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    layout: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """randint() with the size and dtype of `input`: randint_like(input, high) or randint_like(input, low, high)."""
    check_layout(layout, "randint_like")
    low, high = (0, low) if high is None else (low, high)
    if placement is not None or sbp is not None or _native.is_global(input):
        make = partial(randint, low, high, input.shape, generator=generator, dtype=dtype or input.dtype)
        return created_like("randint_like", make, input, placement, sbp, requires_grad)
    place = _beside(input, device)
    result = randint(low, high, input.shape, generator=generator, dtype=dtype or input.dtype, device=place)
    return finish(_laid_like(result, input, memory_format, "randint_like"), requires_grad)


def _drawn_for(model: Tensor, draws: Tensor) -> Tensor:
    """`draws` with the history of `model`, on which they depend, but with gradient 0: draws have no derivative."""
    if not (model.requires_grad and is_grad_enabled()):
        return draws
    return op("copy", True)(model.clone(), draws)


def _check_std(std: Any) -> None:
    if isinstance(std, Tensor) and std.dtype.is_complex:
        raise RuntimeError("normal: std must be real, got a complex tensor")
    message = "normal: std must not be negative"
    if isinstance(std, Tensor):
        require_none(std.detach() < 0, RuntimeError, message)
    elif std < 0:
        raise RuntimeError(f"{message}, got {std}")


@export(function=True)
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    layout: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Normally distributed numbers; mean and std are tensors (broadcast together) or numbers with a size.

    A result of tensors has the dtype of the mean; their gradients are 0.

    Raises:
        RuntimeError: a negative std.
    """
    _check_std(std)
    check_layout(layout, "normal")
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        dtype = mean.dtype if isinstance(mean, Tensor) else std.dtype
        if not is_inexact(dtype):
            raise RuntimeError(f"normal: floating mean and std are wanted, got dtype {dtype}")
        model = (mean + std).to(dtype)
        with no_grad(), like(model):
            result = (randn(model.shape, generator=generator, dtype=dtype) * std + mean).to(dtype)
        result = _drawn_for(model, result)
    else:
        if size is None:
            raise TypeError("normal: a size is wanted where mean and std are numbers")
        result = _fill_normal(_new("normal", (size,), dtype, device), mean, std, generator=generator)
    if out is not None:
        if result.requires_grad:
            raise RuntimeError("normal: out= does not support automatic differentiation, but an argument requires grad")
        if out.shape != result.shape:
            raise RuntimeError(f"normal: out has shape {tuple(out.shape)}, the result {tuple(result.shape)}")
        return out.copy_(result)
    return finish(result, requires_grad)


def _events(input: Tensor, p: Any, generator: Generator | None) -> Tensor:
    """Bools of the size of `input` that are True with probability p."""
    wide = isinstance(p, Tensor) and p.dtype == float64
    if isinstance(p, Tensor):
        if not p.dtype.is_floating_point:
            raise RuntimeError(f"bernoulli: floating probabilities are wanted, got dtype {p.dtype}")
        p = p.detach()
        require_none((p < 0) | (p > 1) | (p != p), RuntimeError, "bernoulli: probabilities must be in [0, 1]")
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli: p must be in [0, 1], got {p}")
    with like(input):
        draws = rand(input.shape, generator=generator, dtype=float64 if wide else default_dtype(None))
    return draws < p


@export(function=True, method=True)
def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that the element of `input` says (or p, where given), else 0.

    Raises:
        RuntimeError: probabilities outside [0, 1].
    """
    events = _events(input, input if p is None else p, generator)
    result = _drawn_for(input, ops.cast(events, input.dtype))
    return result if out is None else out.copy_(result)


@export(method=True)
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Overwrites the tensor with 1 of probability p (a number or a tensor), else 0."""
    return op("copy", True)(self, _events(self, p, generator))


@export(method=True)
def random_(self: Tensor, *bounds: Any, generator: Generator | None = None, **named: Any) -> Tensor:
    """Overwrites the tensor with whole numbers: random_(), random_(to) or random_(from, to), `to` not included."""
    low, high = named.pop("from", 0), named.pop("to", None)
    if named or len(bounds) > 2:
        raise TypeError("random_: at most the bounds from and to, and generator, are wanted")
    if len(bounds) == 2:
        low, high = bounds
    elif bounds:
        high = bounds[0]
    name = self.dtype.name
    if high is None:
        high = 2 ** _MANTISSA_BITS[name] + 1 if name in _MANTISSA_BITS else 2 ** _INT_BITS[name]
        high = min(high, 2**63 - 1)
    return _fill_integers(self, low, high, generator=generator)
