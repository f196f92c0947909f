"""Pointwise functions written with others, and what tw.special calls them."""

import math
from typing import Any

from thalweg._core._tensor import Tensor, attach, op
from thalweg._registry import export, ops
from thalweg.composites.support import is_inexact
from thalweg.frontend.dtypes import complex128, float64

# name in tw.special: op
_SPECIAL = {
    "digamma": "digamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammaln": "lgamma",
    "log1p": "log1p",
    "logit": "logit",
    "psi": "digamma",
    "round": "round",
    "sinc": "sinc",
}
for _name, _op in _SPECIAL.items():
    export(special=True, name=_name)(op(_op))


def _check_exponent(input: Any, exponent: Any) -> None:
    """Refuses whole numbers to a negative whole number, which is none. (A tensor of exponents gives 0 there.)"""
    if isinstance(exponent, int) and exponent < 0 and isinstance(input, Tensor) and not is_inexact(input.dtype):
        raise RuntimeError(f"pow: integers have no negative powers, got dtype {input.dtype} and exponent {exponent}")


@export(function=True, method=True)
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """input to the power of exponent; either may be a number.

    Raises:
        RuntimeError: an integer tensor and a negative whole number.

    >>> import thalweg as tw
    >>> tw.pow(tw.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    _check_exponent(input, exponent)
    return ops.pow(input, exponent) if out is None else ops.pow(input, exponent, out=out)


@export(method=True)
def pow_(self: Tensor, exponent: Any) -> Tensor:
    """pow() in place."""
    _check_exponent(self, exponent)
    return op("pow", True)(self, exponent)


@export(function=True, method=True)
def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        RuntimeError: a bool tensor.
    """
    if input.dtype.name == "bool":
        raise RuntimeError("positive: bool tensors have no sign")
    return input


def _abs_in_place(self: Tensor) -> Tensor:
    """abs() in place.

    Raises:
        RuntimeError: a complex tensor, whose sizes are real.
    """
    if self.dtype.is_complex:
        raise RuntimeError("abs_: the absolute values of a complex tensor are real and do not fit into it")
    return op("abs", True)(self)


for _name in ("abs_", "absolute_"):
    export(function=True, method=True, name=_name)(_abs_in_place)


@export(method=True)
def __rdiv__(self: Tensor, other: Any) -> Tensor:
    """other / self."""
    return other / self


@export(function=True, method=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """pow() computed in float64, or complex128 for complex arguments."""
    if not (isinstance(input, Tensor) or isinstance(exponent, Tensor)):
        raise TypeError(f"float_power: a tensor is wanted, got {type(input).__name__} and {type(exponent).__name__}")
    parts = [getattr(a, "dtype", None) for a in (input, exponent)]
    is_complex = any(
        d.is_complex if d else isinstance(a, complex) for a, d in zip((input, exponent), parts, strict=True)
    )
    wide = complex128 if is_complex else float64
    input, exponent = (ops.cast(a, wide) if isinstance(a, Tensor) else a for a in (input, exponent))
    return ops.pow(input, exponent)


@export(method=True)
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """float_power() in place; the tensor must be float64 or complex128 as the result is.

    Raises:
        RuntimeError: another dtype.
    """
    result_complex = (
        self.dtype.is_complex
        or isinstance(exponent, complex)
        or (isinstance(exponent, Tensor) and exponent.dtype.is_complex)
    )
    wide = complex128 if result_complex else float64
    if self.dtype != wide:
        raise RuntimeError(f"float_power_: a tensor of dtype {wide} is wanted, got {self.dtype}")
    return op("pow", True)(self, exponent)


@export(function=True, method=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2^other; whole exponents leave the dtype of a floating input."""
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        raise TypeError(f"ldexp: tensors are wanted, got {type(input).__name__} and {type(other).__name__}")
    power = ops.pow(2.0, other)
    return input * (power.to(input.dtype) if is_inexact(input.dtype) and not is_inexact(other.dtype) else power)


@export(method=True)
def ldexp_(self: Tensor, other: Tensor) -> Tensor:
    """ldexp() in place."""
    return op("mul", True)(self, ops.pow(2.0, other))


@export(function=True, method=True)
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    _check_real(input, "deg2rad")
    return input * (math.pi / 180)


@export(function=True, method=True)
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    _check_real(input, "rad2deg")
    return input * (180 / math.pi)


@export(method=True)
def deg2rad_(self: Tensor) -> Tensor:
    """deg2rad() in place."""
    _check_real(self, "deg2rad_")
    return op("mul", True)(self, math.pi / 180)


@export(method=True)
def rad2deg_(self: Tensor) -> Tensor:
    """rad2deg() in place."""
    _check_real(self, "rad2deg_")
    return op("mul", True)(self, 180 / math.pi)


def _check_real(input: Tensor, name: str) -> None:
    if input.dtype.is_complex:
        raise RuntimeError(f"{name}: a real tensor is wanted, got dtype {input.dtype}")


@export(function=True, special=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma.

    Raises:
        RuntimeError: a negative n.
    """
    return ops.polygamma_of(input, n)


@export(method=True, name="polygamma")
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma."""
    return ops.polygamma_of(self, n)


@export(method=True)
def polygamma_(self: Tensor, n: int) -> Tensor:
    """polygamma() in place."""
    return op("polygamma_of", True)(self, n)


@export(function=True, method=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    Raises:
        RuntimeError: p below 1.
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: p must be at least 1, got {p}")
    result = ops.lgamma(input)
    for i in range(1, p):
        result = result + ops.lgamma(input - i / 2)
    return result + p * (p - 1) / 4 * math.log(math.pi)


export(special=True, name="multigammaln")(mvlgamma)


@export(method=True)
def mvlgamma_(self: Tensor, p: int) -> Tensor:
    """mvlgamma() in place."""
    return op("copy", True)(self, _fitting(mvlgamma(self.clone(), p), self, "mvlgamma_"))


def _fitting(result: Tensor, target: Tensor, name: str) -> Tensor:
    """The result, refused where the tensor to be written cannot hold it."""
    if not is_inexact(target.dtype) and is_inexact(result.dtype):
        raise RuntimeError(f"{name}: the result has dtype {result.dtype}, which does not fit into {target.dtype}")
    return result


@export(special=True)
def entr(input: Tensor) -> Tensor:
    """-input log(input); 0 at 0, minus infinity below."""
    return ops.where(input < 0, -math.inf, -ops.xlogy(input, input))


@export(special=True)
def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the standard normal distribution."""
    return ops.erfc(input * -math.sqrt(0.5)) * 0.5


@export(special=True)
def ndtri(input: Tensor) -> Tensor:
    """The inverse of ndtr()."""
    return ops.erfinv(input * 2.0 - 1.0) * math.sqrt(2.0)


def _part(index: int) -> property:
    """The real or imaginary part of a complex tensor, as a view that can be written."""
    name = ("real", "imag")[index]

    def read(self: Tensor) -> Tensor:
        if self.dtype.is_complex:
            return ops.select(ops.view_as_real(self), -1, index)
        if index:
            raise RuntimeError(f"imag: a complex tensor is wanted, got dtype {self.dtype}")
        return self

    def write(self: Tensor, value: Any) -> None:
        read(self)[...] = value

    return property(read, write, doc=f"The {name} part, as a view.")


attach("real", _part(0))
attach("imag", _part(1))
