"""Elementwise functions under the standard's signatures: (x, /) and (x1, x2, /).

Two arrays promote by their dtypes alone: 0-dim arrays count like the others, unlike in thalweg's own functions. Either
of two operands may be a Python number, which takes the other's dtype where its kind allows.
"""

from collections.abc import Callable
from typing import Any

import thalweg as tw
from thalweg._core._tensor import Tensor
from thalweg._registry import FUNCTIONS

# standard name: thalweg's, where they differ
UNARY = {name: name for name in (
    "abs acos acosh asin asinh atan atanh ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log10 log1p"
    " log2 logical_not negative positive real reciprocal signbit sin sinh sqrt square tan tanh trunc"
).split()} | {"bitwise_invert": "bitwise_not"}  # fmt: skip
BINARY = {name: name for name in (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide floor_divide"
    " hypot logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter pow subtract"
).split()} | {
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip

__all__ = ["clip", "remainder", "round", "sign", *UNARY, *BINARY]


def promoted(*values: Any) -> list[Any]:
    """The arrays in the dtype that their dtypes promote to, and Python numbers as 0-dim arrays of a fitting dtype."""
    arrays = [v for v in values if isinstance(v, Tensor)]
    if not arrays:
        raise TypeError("array_api: at least one array is wanted, got Python numbers alone")
    wanted = arrays[0].dtype
    for array in arrays[1:]:
        wanted = tw.promote_types(wanted, array.dtype)
    # A number of a higher kind (1.5 with integers) widens the result as thalweg's operators do.
    for number in (v for v in values if not isinstance(v, Tensor)):
        wanted = tw.result_type(tw.empty((1,), dtype=wanted), number)
    return [v.to(wanted) if isinstance(v, Tensor) else tw.full((), v, dtype=wanted) for v in values]


def _unary(name: str, ours: Callable) -> Callable:
    def apply(x: Tensor, /) -> Tensor:
        return ours(x)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{name} of each element."
    return apply


def _binary(name: str, ours: Callable) -> Callable:
    def apply(x1: Any, x2: Any, /) -> Tensor:
        return ours(*promoted(x1, x2))

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{name} of each pair of elements; the operands are broadcast."
    return apply


globals().update({name: _unary(name, FUNCTIONS[ours]) for name, ours in UNARY.items()})
globals().update({name: _binary(name, FUNCTIONS[ours]) for name, ours in BINARY.items()})


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """x limited to [min, max], in its own dtype; the bounds are broadcast."""
    bounds = [b.to(x.dtype) if isinstance(b, Tensor) else b for b in (min, max)]
    if bounds == [None, None]:
        return x.clone()
    if any(isinstance(b, Tensor) for b in bounds):
        bounds = [b if b is None or isinstance(b, Tensor) else tw.full((), b, dtype=x.dtype) for b in bounds]
    return tw.clamp(x, *bounds).to(x.dtype)


def round(x: Tensor, /) -> Tensor:
    """The nearest integers, halves to the even one; of complex numbers, both parts."""
    return tw.complex(tw.round(x.real), tw.round(x.imag)) if x.is_complex() else tw.round(x)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1, NaN of NaN; of complex numbers, x / |x|."""
    if x.is_complex():
        return tw.sgn(x)
    return tw.where(tw.isnan(x), x, tw.sign(x)) if x.is_floating_point() else tw.sign(x)


def remainder(x1: Any, x2: Any, /) -> Tensor:
    """What is left of x1 after taking out multiples of x2, with the sign of x2, a zero's too."""
    x1, x2 = promoted(x1, x2)
    left = tw.remainder(x1, x2)
    return tw.where(left == 0, tw.copysign(left, x2), left) if left.is_floating_point() else left
