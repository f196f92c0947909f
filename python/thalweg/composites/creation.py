"""Ranges, matrices of a pattern, and diagonals."""

import math
from functools import partial
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, op
from thalweg._core._tensor import dtype as DType
from thalweg._registry import export, ops
from thalweg.composites.support import int64, wrap_dim
from thalweg.frontend.device import placed
from thalweg.frontend.dtypes import as_dtype, complex128, float64
from thalweg.frontend.from_data import as_tensor, finish
from thalweg.frontend.global_creation import beside, created
from thalweg.frontend.placement import Sbp, placement


def _number(name: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise RuntimeError(f"{name}: numbers are wanted, got a tensor of shape {list(value.shape)}")
        return value.item()
    if hasattr(value, "item"):
        return value.item()
    if not isinstance(value, (int, float, complex)):
        raise TypeError(f"{name}: numbers are wanted, got {type(value).__name__}")
    return value


def _fill_out(result: Tensor, out: Tensor | None) -> Tensor:
    if out is None:
        return result
    if out.shape != result.shape:
        raise RuntimeError(f"out has shape {list(out.shape)}, the result has shape {list(result.shape)}")
    return op("copy", True)(out, result)


@export(function=True)
@placed
def arange(
    *args: Any,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """start, start + step, ... below end: arange(end), arange(start, end) or arange(start, end, step).

    Whole numbers give int64, others the default float.

    >>> import thalweg as tw
    >>> tw.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    if len(args) == 1 and end is None:
        end = args[0]
    elif len(args) == 1:
        start = args[0]
    elif len(args) in (2, 3):
        start, end = args[:2]
        step = args[2] if len(args) == 3 else step
    if end is None or len(args) > 3:
        raise TypeError("arange: (end), (start, end) or (start, end, step) are wanted")
    if placement is not None or sbp is not None:
        make = partial(arange, start, end, step, dtype=dtype)
        return created("arange", make, placement, sbp, requires_grad, 1)
    start, end, step = (_number("arange", v) for v in (start, end, step))
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = out.dtype if out is not None else int64 if whole else _native.default_dtype()
    dtype = as_dtype(dtype)
    if dtype.name == "bool" or dtype.is_complex:
        raise RuntimeError(f"arange: a real dtype is wanted, got {dtype}")
    if step == 0:
        raise RuntimeError("arange: a step other than 0 is wanted")
    if not all(math.isfinite(v) for v in (start, end, step)):
        raise RuntimeError(f"arange: finite numbers are wanted, got {start}, {end} and {step}")
    if (end - start) * step < 0:
        raise RuntimeError(f"arange: a step of {step} does not lead from {start} to {end}")
    if dtype == int64:
        start, end, step = int(start), int(end), int(step) or step
    whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    count = -((start - end) // step) if whole else math.ceil((end - start) / step)
    if not dtype.is_floating_point:  # smaller dtypes are counted in fractions, but written in whole numbers
        start, step = int(start), int(step)
    return finish(_fill_out(ops.range_fill(count, start, step, dtype), out), requires_grad)


@export(function=True, name="range")
def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """arange with the end included, in the default float."""
    if end is None:
        raise TypeError("range: an end is wanted")
    start, end, step = (_number("range", v) for v in (start, end, step))
    if step == 0 or (end - start) * step < 0:
        raise RuntimeError(f"range: a step of {step} does not lead from {start} to {end}")
    count = math.floor((end - start) / step) + 1
    return finish(ops.range_fill(count, start, step, dtype or _native.default_dtype()), requires_grad)


def _space_dtype(start: Any, end: Any, dtype: DType | None) -> DType:
    if dtype is not None:
        return as_dtype(dtype)
    if isinstance(start, complex) or isinstance(end, complex):
        return as_tensor(1j).dtype
    return _native.default_dtype()


def _check_ends(name: str, start: Any, end: Any, steps: Any) -> None:
    for value in (start, end):
        if isinstance(value, Tensor) and value.ndim:
            raise RuntimeError(f"{name}: ends must be numbers or 0-dim tensors, got shape {list(value.shape)}")
    if not hasattr(steps, "__index__"):
        raise TypeError(f"{name}: steps must be an int, got {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError(f"{name}: at least 0 steps are wanted, got {steps}")


@export(function=True)
@placed
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """`steps` evenly spaced numbers from start to end, both included.

    >>> import thalweg as tw
    >>> tw.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    _check_ends("linspace", start, end, steps)
    if placement is not None or sbp is not None:
        make = partial(linspace, start, end, steps, dtype=dtype)
        return created("linspace", make, placement, sbp, requires_grad, 1)
    start, end = _number("linspace", start), _number("linspace", end)
    dtype = _space_dtype(start, end, dtype)
    if not dtype.is_complex and (isinstance(start, complex) or isinstance(end, complex)):
        raise RuntimeError(f"linspace: complex ends do not fit dtype {dtype}")
    return finish(_fill_out(ops.linspace_fill(steps, start, end, dtype), out), requires_grad)


@export(function=True)
@placed
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """`base` raised to evenly spaced powers from start to end, both included."""
    _check_ends("logspace", start, end, steps)
    if placement is not None or sbp is not None:
        make = partial(logspace, start, end, steps, base, dtype=dtype)
        return created("logspace", make, placement, sbp, requires_grad)
    start, end = _number("logspace", start), _number("logspace", end)
    dtype = _space_dtype(start, end, dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        start, end = int(start), int(end)
    elif dtype.itemsize == 2 and steps > 1:  # the ends are numbers of the dtype
        start, end = (ops.full([], v, dtype=dtype).item() for v in (start, end))
    powers = ops.linspace_fill(steps, start, end, complex128 if dtype.is_complex else float64)
    return finish(_fill_out(ops.pow(base, powers).to(dtype), out), requires_grad)


@export(function=True)
@placed
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """An n x m (n x n) matrix with ones on its diagonal and zeros elsewhere."""
    if placement is not None or sbp is not None:
        make = partial(eye, n, m, dtype=dtype)
        return created("eye", make, placement, sbp, requires_grad)
    m = n if m is None else m
    if n < 0 or m < 0:
        raise RuntimeError(f"eye: sizes must not be negative, got {n} and {m}")
    dtype = dtype or (out.dtype if out is not None else _native.default_dtype())
    result = ops.full([n, m], 0, dtype=dtype)
    op("copy", True)(ops.diagonal(result), ops.full([], 1, dtype=dtype))
    return finish(_fill_out(result, out), requires_grad)


@export(function=True)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector's elements as columns, the highest first unless increasing."""
    if x.ndim != 1:
        raise RuntimeError(f"vander: a vector is wanted, got shape {list(x.shape)}")
    powers = _powers(x, x.shape[0] if N is None else N)
    return powers if increasing else ops.flip(powers, -1)


def _powers(x: Tensor, count: int) -> Tensor:
    if count < 0:
        raise RuntimeError(f"vander: a number of columns of at least 0 is wanted, got {count}")
    whole = not (x.dtype.is_floating_point or x.dtype.is_complex)
    x = x.to(int64) if whole else x
    columns = [x.new_ones(x.shape)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    if count == 0:
        return x.new_zeros([*x.shape, 0])
    return ops.stack(columns, -1)


@export(linalg=True, name="vander")
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Rising powers of the elements of the last dim, as a new last dim; a 0-dim tensor counts as one of 1 element."""
    if x.ndim == 0:
        x = x.unsqueeze(0)
    if N is not None and N <= 1:
        raise RuntimeError(f"vander: more than 1 column is wanted, got {N}")
    return _powers(x, x.shape[-1] if N is None else N)


@export(function=True, method=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or a matrix with a vector on its diagonal."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag: a vector or matrix is wanted, got shape {list(input.shape)}")
    return ops.diagonal(input, diagonal).clone()


@export(function=True, method=True)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Zeros with the last dim of input on the diagonal of dims dim1 and dim2."""
    rank = input.ndim + 1
    if input.ndim == 0:
        raise RuntimeError("diag_embed: at least 1 dim is wanted")
    a, b = wrap_dim("diag_embed", dim1, rank), wrap_dim("diag_embed", dim2, rank)
    if a == b:
        raise RuntimeError(f"diag_embed: two different dims are wanted, got {dim1} and {dim2}")
    size = input.shape[-1] + abs(offset)
    rest = iter(input.shape[:-1])
    with beside(input):
        zeros = ops.full([size if d in (a, b) else next(rest) for d in range(rank)], 0, dtype=input.dtype)
    return diagonal_scatter(zeros, input, offset, a, b)


@export(function=True, method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the flattened input on its diagonal."""
    return diag_embed(input.reshape(-1), offset)


def _written(input: Tensor, window: Any, src: Tensor, name: str) -> Tensor:
    """A copy of input with src in a window of it."""
    result = input.clone()
    target = window(result)
    if target.shape != src.shape:
        raise RuntimeError(f"{name}: src of shape {list(target.shape)} is wanted, got {list(src.shape)}")
    op("copy", True)(target, src)
    return result


# A window of a global tensor may be a copy, so what is to be written in one is put at its positions.


def _put_rows(input: Tensor, dim: int, rows: list[int], src: Tensor, name: str) -> Tensor:
    shape = [len(rows) if d == dim else size for d, size in enumerate(input.shape)]
    if list(src.shape) != shape:
        raise RuntimeError(f"{name}: src of shape {shape} is wanted, got {list(src.shape)}")
    return ops.index_put(input, [None] * dim + [input.new_tensor(rows, dtype=int64)], src)


def _put_diagonal(input: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    a, b = (wrap_dim("diagonal_scatter", d, input.ndim) for d in (dim1, dim2))
    row, column = max(-offset, 0), max(offset, 0)
    count = max(min(input.shape[a] - row, input.shape[b] - column), 0)
    shape = [size for d, size in enumerate(input.shape) if d not in (a, b)] + [count]
    if a == b or list(src.shape) != shape:
        raise RuntimeError(f"diagonal_scatter: two dims and src of shape {shape} are wanted, got {list(src.shape)}")
    places: list = [None] * input.ndim
    places[a] = input.new_tensor(range(row, row + count), dtype=int64)
    places[b] = input.new_tensor(range(column, column + count), dtype=int64)
    first, last = min(a, b), max(a, b)
    return ops.index_put(input, places[: last + 1], src.movedim(-1, first if last == first + 1 else 0))


@export(function=True, method=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """input with src on its diagonal."""
    if _native.is_global(input):
        return _put_diagonal(input, src, offset, dim1, dim2)
    return _written(input, lambda x: ops.diagonal(x, offset, dim1, dim2), src, "diagonal_scatter")


@export(function=True, method=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """input with src at one position of a dim."""
    if _native.is_global(input):
        dim = wrap_dim("select_scatter", dim, input.ndim)
        return _put_rows(input, dim, [index], src.unsqueeze(dim), "select_scatter")
    return _written(input, lambda x: ops.select(x, dim, index), src, "select_scatter")


@export(function=True, method=True)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """input with src at positions start, start + step, ... below end of a dim."""
    dim = wrap_dim("slice_scatter", dim, input.ndim)
    last = input.shape[dim] if end is None else end
    if _native.is_global(input):
        rows = list(range(*slice(start or 0, last, step).indices(input.shape[dim])))
        return _put_rows(input, dim, rows, src, "slice_scatter")
    return _written(input, lambda x: ops.slice(x, dim, start or 0, last, step), src, "slice_scatter")


def _triangle_indices(name: str, row: int, col: int, offset: int, dtype: DType, lower: bool) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"{name}: sizes must not be negative, got {row} and {col}")
    triangle = ops.tril if lower else ops.triu
    return ops.nonzero(triangle(ops.full([row, col], True), offset)).transpose(0, 1).to(dtype).clone()


@export(function=True)
@placed
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType = int64, device: Any = None) -> Tensor:
    """Rows and columns [2, count] of the elements on and below a diagonal."""
    return _triangle_indices("tril_indices", row, col, offset, dtype, True)


@export(function=True)
@placed
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType = int64, device: Any = None) -> Tensor:
    """Rows and columns [2, count] of the elements on and above a diagonal."""
    return _triangle_indices("triu_indices", row, col, offset, dtype, False)


@export(method=True)
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrites this tensor with src, broadcast and converted to its dtype."""
    return op("copy", True)(self, src)


@export(method=True)
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Writes one number on the main diagonal; with wrap the diagonal of a tall matrix goes on after each block."""
    if self.ndim < 2:
        raise RuntimeError(f"fill_diagonal_: at least 2 dims are wanted, got shape {list(self.shape)}")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(f"fill_diagonal_: beyond 2 dims, equal sizes are wanted, got shape {list(self.shape)}")
    number = self.new_full([], fill_value)
    if self.ndim > 2:
        places = self.new_tensor(range(self.shape[0]), dtype=int64)
        return op("index_put", True)(self, [places] * self.ndim, number)
    if _native.is_global(self):
        starts = range(0, self.shape[0], self.shape[1] + 1) if wrap else [0]
        pairs = [(start + i, i) for start in starts for i in range(min(self.shape[0] - start, self.shape[1]))]
        return op("index_put", True)(self, [self.new_tensor(p, dtype=int64) for p in zip(*pairs)], number)
    op("copy", True)(ops.diagonal(self), number)
    rows, columns = self.shape
    for start in range(columns + 1, rows, columns + 1) if wrap else ():
        op("copy", True)(ops.diagonal(ops.slice(self, 0, start, rows)), number)
    return self
