"""Norms of vectors and matrices, and distances made of them."""

import math
from collections.abc import Sequence

from thalweg._core._tensor import Tensor, dtype
from thalweg._registry import export, ops
from thalweg.composites.support import wrap_dim

__all__ = ["dist", "linalg_norm", "linalg_vector_norm", "matrix_norm", "norm"]

Order = int | float | str | None
Dims = int | Sequence[int] | None


def _real_part(input: Tensor, wanted: dtype | None, name: str) -> tuple[Tensor, dtype | None]:
    """|input| or input in a dtype that the kernel takes, and the dtype to give the result, if another."""
    if wanted is not None:
        if not (wanted.is_floating_point or wanted.is_complex) or (input.dtype.is_complex and not wanted.is_complex):
            raise RuntimeError(f"{name}: dtype {wanted} cannot hold a norm of {input.dtype}")
        input = ops.cast(input, wanted) if wanted != input.dtype else input
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"{name}: a floating or complex dtype is wanted, got {input.dtype}")
    if input.dtype.is_complex:
        input = ops.abs(input)
    if input.dtype.itemsize == 2:
        return input.float(), input.dtype
    return input, None


@export(linalg=True, name="vector_norm")
def linalg_vector_norm(
    x: Tensor, ord: int | float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over the given dims; ±inf gives the largest or smallest |x|, 0 the count of nonzeros."""
    x, narrow = _real_part(x, dtype, "vector_norm")
    result = ops.vector_norm(x, float(ord), dim, keepdim)
    return ops.cast(result, narrow) if narrow else result


def _two_dims(input: Tensor, dim: Sequence[int], name: str) -> tuple[int, int]:
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must hold two dims, got {list(dim)}")
    rows, columns = (d + input.ndim if d < 0 else d for d in dim)
    for wrapped, given in ((rows, dim[0]), (columns, dim[1])):
        if not 0 <= wrapped < input.ndim:
            raise IndexError(f"{name}: dim {given} is out of range for {input.ndim} dims")
    if rows == columns:
        raise RuntimeError(f"{name}: the two dims must differ, got {list(dim)}")
    return rows, columns


def _singular_norm(A: Tensor, ord: Order, dims: tuple[int, int], keepdim: bool, wanted: dtype | None) -> Tensor:
    """The sum ("nuc"), the largest (2) or the smallest (-2) of the singular values."""
    if wanted is not None:
        A = ops.cast(A, wanted)
    rest = [d for d in range(A.ndim) if d not in dims]
    values = ops.linalg_svdvals(ops.permute(A, rest + list(dims)))
    result = {"nuc": ops.sum, 2: ops.amax, -2: ops.amin}[ord](values, -1)
    if keepdim:
        for d in sorted(dims):
            result = ops.unsqueeze(result, d)
    return result


@export(linalg=True)
def matrix_norm(
    A: Tensor, ord: Order = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """The norm of matrices: "fro", or the largest (smallest, for a negative ord) absolute row or column sum.

    ord ±1 sums columns, ±inf rows; 2 and -2 are the largest and the smallest singular value, "nuc" their sum.
    """
    if A.ndim < 2:
        raise RuntimeError(f"matrix_norm: at least two dims are wanted, got shape {list(A.shape)}")
    rows, columns = _two_dims(A, dim, "matrix_norm")
    if ord == "fro":
        return linalg_vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        return _singular_norm(A, ord, (rows, columns), keepdim, dtype)
    if ord is None or isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"matrix_norm: ord must be 'fro', 'nuc', ±1, ±2 or ±inf, got {ord!r}")
    summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = linalg_vector_norm(A, 1, summed, True, dtype=dtype)
    result = (ops.amax if ord > 0 else ops.amin)(sums, other, True)
    return result if keepdim else ops.squeeze(result, (rows, columns))


@export(linalg=True, name="norm")
def linalg_norm(
    A: Tensor, ord: Order = None, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """The vector norm over one dim (or, without ord, over all), the matrix norm over two."""
    if isinstance(dim, int):
        dim = (dim,)
    if ord is None:
        return linalg_vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: with ord and without dim the input must have 1 or 2 dims, got {A.ndim}")
    if len(dim) == 2 if dim is not None else A.ndim == 2:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: ord {ord!r} is for matrices, dim is {dim}")
    return linalg_vector_norm(A, ord, dim, keepdim, dtype=dtype)


@export(function=True, method=True)
def norm(
    input: Tensor, p: Order = "fro", dim: Dims = None, keepdim: bool = False, dtype: dtype | None = None
) -> Tensor:
    """The vector norm of order p over the given dims; "fro" and None are 2, "nuc" is matrix_norm's."""
    if p == "nuc":
        if dtype is not None:
            raise ValueError(f"norm: with p 'nuc' no dtype is taken, got {dtype}")
        dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        return matrix_norm(input, "nuc", dims, keepdim)
    if p is None or p == "fro":
        p = 2
    if isinstance(p, str):
        raise RuntimeError(f"norm: p must be a number, 'fro' or 'nuc', got {p!r}")
    return linalg_vector_norm(input, p, dim, keepdim, dtype=dtype)


@export(function=True, method=True)
def dist(input: Tensor, other: Tensor, p: int | float = 2) -> Tensor:
    """The p-norm of input - other, broadcast."""
    return linalg_vector_norm(input - other, p)


@export(function=True, method=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Each slice along dim scaled down to a p-norm of maxnorm where it has a larger one.

    Raises:
        RuntimeError: fewer than two dims, or p or maxnorm that is not positive.
    """
    if input.ndim < 2:
        raise RuntimeError(f"renorm: at least two dims are wanted, got {input.ndim}")
    if p <= 0 or maxnorm < 0:
        raise RuntimeError(f"renorm: a positive p and a maxnorm of 0 or more are wanted, got {p} and {maxnorm}")
    own = wrap_dim("renorm", dim, input.ndim)
    norms = linalg_vector_norm(input, p, [d for d in range(input.ndim) if d != own], True)
    return input * ops.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


@export(method=True)
def renorm_(self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """renorm() in place."""
    return self.copy_(renorm(self.clone(), p, dim, maxnorm))
