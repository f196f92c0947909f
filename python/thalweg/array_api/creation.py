"""Creation functions under the standard's signatures."""

from collections.abc import Sequence
from typing import Any

import thalweg as tw
from thalweg._core._tensor import Tensor, dtype

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

Shape = int | Sequence[int]


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Numbers from start (0 where only one is given) up to but without stop; none where step leads away from it."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: a step other than 0 is wanted")
    if (stop - start) * step <= 0:
        whole = all(isinstance(v, int) for v in (start, stop, step))
        return tw.empty((0,), dtype=dtype or (tw.int64 if whole else None), device=device)
    return tw.arange(start, stop, step, dtype=dtype, device=device)


def asarray(obj: Any, /, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """obj as an array; copy=True always copies, copy=False raises where a copy would be needed."""
    return tw.asarray(obj, dtype=dtype, device=device, copy=copy)


def empty(shape: Shape, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array with unset elements."""
    return tw.empty(shape, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array like x with unset elements."""
    return tw.empty_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    result = tw.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype, device=device)
    if -result.shape[0] < k < result.shape[1]:
        result.diagonal(k).fill_(1)
    return result


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """An array over the memory of any object with __dlpack__."""
    return tw.from_dlpack(x, device=device, copy=copy)


def full(shape: Shape, fill_value: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array of one number."""
    return tw.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array like x of one number."""
    return tw.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: dtype | None = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """num evenly spaced numbers from start to stop, the last one left out where endpoint=False."""
    if endpoint:
        return tw.linspace(start, stop, num, dtype=dtype, device=device)
    return tw.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Each vector over the grid that all of them span."""
    return tw.meshgrid(*arrays, indexing=indexing) if arrays else ()


def ones(shape: Shape, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array of ones."""
    return tw.ones(shape, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array like x of ones."""
    return tw.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """x with zeros above the k-th diagonal."""
    return tw.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """x with zeros below the k-th diagonal."""
    return tw.triu(x, k)


def zeros(shape: Shape, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array of zeros."""
    return tw.zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array like x of zeros."""
    return tw.zeros_like(x, dtype=dtype, device=device)
