"""where with one or three arguments, and comparisons of whole tensors."""

from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.support import bool_dtype
from thalweg.frontend.creation import full_like


@export(function=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where the condition holds, else of `other`; alone, the indices where it holds.

    >>> import thalweg as tw
    >>> tw.where(tw.tensor([True, False]), tw.tensor([1, 2]), 0)
    tensor([1, 0])
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    return ops.where(condition, input, other)


@export(method=True, name="where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Elements of this tensor where the condition holds, else of `other`."""
    return ops.where(condition, self, other)


@export(function=True, method=True)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol |other|, element by element. Infinities are close to themselves.

    Raises:
        RuntimeError: dtypes that differ.
        ValueError: negative tolerances.
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise TypeError(f"isclose: two Tensors are wanted, got {type(input).__name__} and {type(other).__name__}")
    if input.dtype != other.dtype:
        raise RuntimeError(f"isclose: the dtypes must agree, got {input.dtype} and {other.dtype}")
    if rtol < 0 or atol < 0:
        raise ValueError(f"isclose: tolerances must not be negative, got rtol={rtol}, atol={atol}")
    close = input == other
    floating = input.dtype.is_floating_point or input.dtype.is_complex
    if equal_nan and floating:
        close = close | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return close
    if not floating:
        input, other = ops.true_divide(input, 1), ops.true_divide(other, 1)
    difference = (input - other).abs()
    return close | (difference.isfinite() & (difference <= (other * rtol).abs() + atol))


@export(function=True, method=True)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as isclose() says."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@export(function=True, method=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape and equal elements."""
    if input.shape != other.shape:
        return False
    return bool((input == other).all())


@export(function=True, method=True)
def isreal(input: Tensor) -> Tensor:
    """Whether each element has no imaginary part."""
    return ops.eq(ops.imag(input), 0) if input.dtype.is_complex else full_like(input, True, dtype=bool_dtype)
