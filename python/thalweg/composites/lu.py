"""The factorisation A = P L U: packed, taken apart, and put to use."""

from typing import NamedTuple

from thalweg._core._tensor import Tensor, dtype
from thalweg._registry import FUNCTIONS, export, ops
from thalweg.frontend.global_creation import beside

__all__ = ["linalg_lu_solve", "lu", "lu_factor", "lu_solve", "lu_unpack"]


class Packed(NamedTuple):
    """L (below the diagonal, its own is all ones) and U in one matrix; row i was exchanged with pivots[i] - 1."""

    LU: Tensor
    pivots: Tensor


class Factors(NamedTuple):
    """The factors of A = P L U."""

    P: Tensor
    L: Tensor
    U: Tensor


@export(linalg=True)
def lu_factor(A: Tensor, *, pivot: bool = True) -> Packed:
    """L and U of invertible matrices in one, and the exchanges of rows that P stands for."""
    LU, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)
    return Packed(LU, pivots)


def _triangles(LU: Tensor) -> tuple[Tensor, Tensor]:
    m, n = LU.shape[-2:]
    k = min(m, n)
    with beside(LU):
        diagonal = FUNCTIONS["eye"](m, k, dtype=LU.dtype)
    lower = ops.tril(LU[..., :k], -1) + diagonal
    return lower, ops.triu(LU[..., :k, :])


def _permutation(pivots: Tensor, rows: int, wanted: dtype) -> Tensor:
    origin = ops.permutation_of_pivots(pivots, rows)  # row i of L U is row origin[i] of A
    with beside(origin):
        places = FUNCTIONS["arange"](rows)
    return ops.eq(places.unsqueeze(-1), origin.unsqueeze(-2)).to(wanted)


@export(linalg=True)
def lu(A: Tensor, *, pivot: bool = True) -> Factors:
    """A = P L U: P a permutation of rows, L unit lower, U upper triangular.

    >>> import thalweg as tw
    >>> P, L, U = tw.linalg.lu(tw.tensor([[0.0, 1.0], [2.0, 3.0]]))
    >>> (P @ L @ U).tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    LU, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot)
    return Factors(_permutation(pivots, A.shape[-2], A.dtype), *_triangles(LU))


@export(function=True)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Factors:
    """P, L and U of what lu_factor gives; what is not wanted is empty."""
    empty = LU_data.new_zeros([0])
    lower, upper = _triangles(LU_data) if unpack_data else (empty, empty)
    return Factors(_permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else empty, lower, upper)


@export(linalg=True, name="lu_solve")
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The X of A X = B (of X A = B unless left) from what lu_factor gives for A; adjoint: for Aᴴ in its place."""
    if left:
        return ops.lu_solve_matrices(LU, pivots, B, adjoint)
    return ops.lu_solve_matrices(LU, pivots, B.mH, not adjoint).mH


@export(function=True, method=True)
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """linalg.lu_solve with the right side first."""
    return linalg_lu_solve(LU_data, LU_pivots, b)
