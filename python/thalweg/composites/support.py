"""What composites share: dims, shapes and dtypes checked."""

from collections.abc import Sequence
from typing import Any

from thalweg._core._tensor import Tensor, dtype, dtype_by_name
from thalweg._registry import ops

int64 = dtype_by_name("int64")
bool_dtype = dtype_by_name("bool")


def wrap_dim(name: str, dim: int, rank: int) -> int:
    """`dim` counted from the front; a 0-dim tensor has dims 0 and -1."""
    limit = max(rank, 1)
    if isinstance(dim, Tensor) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}: dim must be an int, got {type(dim).__name__}")
    if not -limit <= dim < limit:
        raise IndexError(f"{name}: dim must be in [{-limit}, {limit - 1}], got {dim}")
    return dim % limit


def wrap_dims(name: str, dims: Any, rank: int) -> list[int]:
    """The same for an int or several, each at most once."""
    given = [dims] if hasattr(dims, "__index__") and not isinstance(dims, Tensor) else list(dims)
    wrapped = [wrap_dim(name, dim, rank) for dim in given]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"{name}: a dim appears more than once in {tuple(given)}")
    return wrapped


def broadcast_shape(name: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    result: list[int] = []
    for shape in shapes:
        shape = list(shape)
        rank = max(len(result), len(shape))
        left, right = [1] * (rank - len(result)) + result, [1] * (rank - len(shape)) + shape
        for a, b in zip(left, right, strict=True):
            if a != b and 1 not in (a, b):
                raise RuntimeError(f"{name}: the shapes {[list(s) for s in shapes]} do not broadcast together")
        result = [b if a == 1 else a for a, b in zip(left, right, strict=True)]
    return tuple(result)


def ints(name: str, values: tuple) -> list[int]:
    """Sizes or dims given as f(2, 3), f((2, 3)) or f(tensor)."""
    if len(values) == 1 and not hasattr(values[0], "__index__"):
        values = values[0]
    elif len(values) == 1 and isinstance(values[0], Tensor) and values[0].ndim:
        values = values[0].tolist()
    result = []
    for value in values:
        if isinstance(value, float) or not hasattr(value, "__index__"):
            raise TypeError(f"{name}: ints are wanted, got {type(value).__name__}")
        result.append(value.__index__())
    return result


def require_none(condition: Tensor, error: type[Exception], message: str) -> None:
    """Raises `error` where any element of a bool tensor holds; a static program does so when it runs."""
    ops.assert_none(condition, error.__name__, message)


def is_inexact(dtype: dtype) -> bool:
    """Whether the dtype is a floating or complex one."""
    return dtype.is_floating_point or dtype.is_complex


def as_number(value: Any) -> Any:
    """Python numbers and tensors as they are; refuses what is neither."""
    if isinstance(value, (Tensor, int, float, complex)):
        return value
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a tensor or number is wanted, got {type(value).__name__}")


__all__ = [
    "as_number",
    "bool_dtype",
    "broadcast_shape",
    "dtype",
    "int64",
    "ints",
    "is_inexact",
    "require_none",
    "wrap_dim",
    "wrap_dims",
]
