"""The standard's extension for linear algebra: thalweg.linalg under the standard's signatures."""

from typing import Any

import thalweg as tw
from thalweg._core._tensor import Tensor, dtype
from thalweg._registry import ops
from thalweg.array_api.elementwise import promoted
from thalweg.array_api.manipulation import Axis, axes_of, matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower (or upper) Cholesky factors of positive definite matrices."""
    return tw.linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of 3 along a negative axis; the other axes are broadcast."""
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"cross: a negative axis that both have is wanted, got {axis} for {x1.ndim} and {x2.ndim}")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: size 3 at axis {axis} is wanted, got {x1.shape[axis]} and {x2.shape[axis]}")
    return tw.linalg.cross(*tw.broadcast_tensors(*promoted(x1, x2)), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants of square matrices."""
    return tw.linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices, `offset` to the right of the main ones."""
    return tw.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> tuple[Tensor, Tensor]:
    """The eigenvalues (ascending) and eigenvectors of Hermitian matrices."""
    return tw.linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending."""
    return tw.linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses of square matrices."""
    return tw.linalg.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: int | float | str | None = "fro") -> Tensor:
    """The norms of matrices: "fro", "nuc", ±1, ±2 or ±inf."""
    return tw.linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices times themselves n times; a negative n takes the inverses."""
    return tw.linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values exceed rtol times the largest one."""
    return tw.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of all pairs of elements of two vectors."""
    return tw.outer(*promoted(x1, x2))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudoinverses of matrices; singular values up to rtol times the largest one count as 0."""
    return tw.linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """The factors of x = Q R, "reduced" or "complete"."""
    return tw.linalg.qr(x, mode)


def slogdet(x: Tensor, /) -> tuple[Tensor, Tensor]:
    """The sign of the determinants and the logarithm of their size."""
    return tw.linalg.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The y of x1 y = x2 for square matrices x1; x2 is one vector, or matrices."""
    x1, x2 = promoted(x1, x2)
    if x2.ndim == 1:
        return ops.solve_matrices(x1, x2.unsqueeze(-1))[0].squeeze(-1)
    return ops.solve_matrices(x1, x2)[0]


def svd(x: Tensor, /, *, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """The factors of x = U diag(S) Vh."""
    return tw.linalg.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of matrices, descending."""
    return tw.linalg.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor:
    """The sums of the diagonals of matrices."""
    return tw.sum(diagonal(x, offset=offset), -1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norm of order ord over axes (None: over all, of the flattened array)."""
    axes = axes_of(x, axis)
    if not axes:
        return tw.abs(x) if ord != 0 else tw.ne(x, 0).to(tw.abs(x).dtype)
    return tw.linalg.vector_norm(x, ord, axes, keepdims)
