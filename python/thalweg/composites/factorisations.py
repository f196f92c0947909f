"""Systems, inverses, determinants and factorisations of matrices, under the names of torch and torch.linalg."""

import math
from typing import NamedTuple

from thalweg._core._tensor import Tensor
from thalweg._registry import FUNCTIONS, export, ops
from thalweg.frontend.global_creation import beside

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "inv",
    "inverse",
    "linalg_cholesky",
    "linalg_solve_triangular",
    "logdet",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "svd",
    "tensorinv",
    "tensorsolve",
]


class Solved(NamedTuple):
    """A solution, and where a zero pivot stood (0: nowhere)."""

    result: Tensor
    info: Tensor


class Factors(NamedTuple):
    """The factors of A = U diag(S) Vᴴ."""

    U: Tensor
    S: Tensor
    V: Tensor


class QRFactors(NamedTuple):
    """The factors of A = Q R."""

    Q: Tensor
    R: Tensor


def is_vectors(A: Tensor, B: Tensor) -> bool:
    """Whether B holds vectors: one, or one for each matrix of A."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


@export(linalg=True)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Solved:
    """solve, and for each matrix the number of the first pivot that is zero (0: none); raises only when told to."""
    if A.ndim < 2 or B.ndim < 1:
        raise RuntimeError(
            f"solve: matrices A and vectors or matrices B are wanted, got shapes {list(A.shape)} and {list(B.shape)}"
        )
    vectors = is_vectors(A, B)
    if vectors and not left:
        raise RuntimeError(f"solve: with left=False B must be matrices, got shape {list(B.shape)}")
    if vectors:
        B = B.unsqueeze(-1)
    if left:
        result, info = ops.solve_matrices(A, B, check_errors)
    else:
        result, info = ops.solve_matrices(A.mT, B.mT, check_errors)
        result = result.mT
    return Solved(result.squeeze(-1) if vectors else result, info)


@export(linalg=True)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X of A X = B (of X A = B unless left) for square matrices A; B holds matrices, or vectors.

    >>> import thalweg as tw
    >>> tw.linalg.solve(tw.tensor([[2.0, 0.0], [0.0, 4.0]]), tw.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    return solve_ex(A, B, left=left, check_errors=True).result


@export(linalg=True, name="solve_triangular")
def linalg_solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The X of A X = B (of X A = B unless left); of A one triangle is read, and no diagonal where that is all ones."""
    if left:
        return ops.solve_triangular(A, B, upper, unitriangular)
    return ops.solve_triangular(A.mT, B.mT, not upper, unitriangular).mT


@export(linalg=True)
def inv(A: Tensor) -> Tensor:
    """The inverses of square matrices."""
    return ops.linalg_inv_ex(A, check_errors=True)[0]


@export(function=True, method=True)
def inverse(input: Tensor) -> Tensor:
    """The inverses of square matrices: linalg.inv."""
    return inv(input)


@export(function=True, method=True)
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices: linalg.det."""
    return ops.linalg_det(input)


@export(function=True, method=True)
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinants and the logarithm of their size: linalg.slogdet."""
    return ops.linalg_slogdet(input)


@export(function=True, method=True)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinants of square matrices; NaN where one is negative."""
    sign, size = ops.linalg_slogdet(input)
    if input.dtype.is_complex:
        return sign.log() + size
    return ops.where(ops.eq(sign, -1.0), math.nan, size)


@export(linalg=True, name="cholesky")
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower L of A = L Lᴴ (or the upper U of A = Uᴴ U) for positive definite matrices A."""
    return ops.linalg_cholesky_ex(A, upper=upper, check_errors=True)[0]


@export(function=True, method=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factors of positive definite matrices: linalg.cholesky."""
    return linalg_cholesky(input, upper=upper)


@export(function=True, method=True)
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The X of A X = B where A = L Lᴴ (or, for upper factors, A = Lᴴ L)."""
    return ops.solve_factored(L, B, upper)


@export(function=True, method=True)
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A = L Lᴴ (or, for upper factors, of A = Lᴴ L)."""
    with beside(L):
        identity = FUNCTIONS["eye"](L.shape[-1] if L.ndim else 0, dtype=L.dtype)
    return cholesky_solve(identity, L, upper)


@export(function=True, method=True)
def qr(input: Tensor, some: bool = True) -> QRFactors:
    """input = Q R, the columns of Q orthonormal and R upper: linalg.qr, "complete" unless some."""
    return QRFactors(*ops.linalg_qr(input, "reduced" if some else "complete"))


@export(function=True, method=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Factors:
    """input = U diag(S) Vᴴ; note V, where linalg.svd gives Vᴴ. Without compute_uv U and V are zeros."""
    if compute_uv:
        U, S, Vh = ops.linalg_svd(input, not some)
        return Factors(U, S, Vh.mH)
    S = ops.linalg_svdvals(input)
    batch, (m, n) = list(input.shape[:-2]), input.shape[-2:]
    zeros = [input.new_zeros([*batch, size, size]) for size in (m, n)]
    return Factors(zeros[0], S, zeros[1])


def _product(sizes: tuple) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


@export(linalg=True)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its last dims to its first `ind` dims.

    tensordot(tensorinv(A), A, ind) is the identity.
    """
    if ind <= 0:
        raise RuntimeError(f"tensorinv: ind must be positive, got {ind}")
    first, last = A.shape[:ind], A.shape[ind:]
    if _product(first) != _product(last):
        raise RuntimeError(f"tensorinv: dims before and from ind of one product are wanted, got shape {list(A.shape)}")
    return inv(A.reshape([_product(first), _product(last)])).reshape([*last, *first])


@export(linalg=True)
def tensorsolve(A: Tensor, B: Tensor, dims: tuple[int, ...] | None = None) -> Tensor:
    """The X of tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first."""
    if dims is not None:
        moved = [d % A.ndim for d in dims]
        A = A.permute([d for d in range(A.ndim) if d not in moved] + moved)
    sizes = A.shape[B.ndim :]
    if _product(sizes) != _product(B.shape):
        raise RuntimeError(
            f"tensorsolve: A must have as many elements as B's square, got {list(A.shape)} and {list(B.shape)}"
        )
    return solve(A.reshape([_product(B.shape), _product(sizes)]), B.reshape([-1])).reshape(list(sizes))
