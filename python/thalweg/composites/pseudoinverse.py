"""What singular values tell of a matrix: its rank, its condition, its pseudoinverse, least squares."""

import math
from typing import NamedTuple

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.factorisations import is_vectors
from thalweg.composites.norms import Order, matrix_norm
from thalweg.frontend.dtypes import finfo
from thalweg.frontend.global_creation import beside

__all__ = ["cond", "linalg_pinv", "lstsq", "matrix_rank", "pinverse"]

Tolerance = float | Tensor | None


def tolerances(A: Tensor, atol: Tolerance, rtol: Tolerance) -> tuple[Tensor, Tensor]:
    """(atol, rtol) as tensors of the real dtype of A; by default 0, and max(m, n) eps unless atol is positive."""
    real = ops.abs(A).dtype if A.dtype.is_complex else A.dtype
    given = [x.to(real) if isinstance(x, Tensor) else x for x in (atol, rtol)]
    with beside(A):
        absolute, relative = (x if x is None or isinstance(x, Tensor) else ops.full([], x, dtype=real) for x in given)
        if relative is None:
            relative = ops.full([], max(A.shape[-2:]) * finfo(real).eps, dtype=real)
            if absolute is not None:
                relative = ops.where(ops.gt(absolute, 0.0), 0.0, relative)
        return (ops.full([], 0.0, dtype=real) if absolute is None else absolute), relative


@export(linalg=True)
def matrix_rank(
    A: Tensor, tol: Tolerance = None, hermitian: bool = False, *, atol: Tolerance = None, rtol: Tolerance = None
) -> Tensor:
    """How many singular values are above max(atol, rtol times the largest); tol is another name of atol."""
    if A.ndim < 2:
        raise RuntimeError(f"matrix_rank: a matrix or a batch of matrices is wanted, got shape {list(A.shape)}")
    if tol is not None:
        atol, rtol = tol, 0.0
    values = ops.abs(ops.linalg_eigvalsh(A)) if hermitian else ops.linalg_svdvals(A)
    absolute, relative = tolerances(A, atol, rtol)
    if values.shape[-1] == 0:
        return ops.sum(values, -1).long()
    cutoff = ops.maximum(absolute, relative * ops.amax(values, -1))
    return ops.sum(ops.gt(values, cutoff.unsqueeze(-1)), -1)


@export(linalg=True, name="pinv")
def linalg_pinv(
    A: Tensor, rcond: Tolerance = None, hermitian: bool = False, *, atol: Tolerance = None, rtol: Tolerance = None
) -> Tensor:
    """The Moore-Penrose inverses of matrices; rcond is another name of rtol.

    Singular values (of Hermitian matrices: sizes of eigenvalues) up to max(atol, rtol times the largest) count as 0.
    """
    if A.ndim < 2:
        raise RuntimeError(f"pinv: a matrix or a batch of matrices is wanted, got shape {list(A.shape)}")
    if rcond is not None:
        atol, rtol = 0.0, rcond
    absolute, relative = tolerances(A, atol, rtol)
    return ops.pinv_matrices(A, absolute, relative, hermitian)


@export(function=True, method=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """linalg.pinv with a tolerance of its own."""
    return linalg_pinv(input, rcond)


class LeastSquares(NamedTuple):
    """What lstsq gives; parts that the driver does not compute are empty."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@export(linalg=True)
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """The X of the smallest norm among those for which |A X - B| is smallest; B holds matrices, or vectors.

    The drivers are LAPACK's names and say what comes beside the solution: residuals (sums of squares, for matrices of
    full rank with more rows than columns) of "gels", "gelsd" and "gelss"; the rank of all but "gels"; singular values
    of "gelsd" and "gelss". Singular values up to rcond times the largest count as 0.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"lstsq: driver must be 'gels', 'gelsy', 'gelsd' or 'gelss', got {driver!r}")
    if A.ndim < 2 or B.ndim < 1 or A.dtype != B.dtype:
        raise RuntimeError(
            "lstsq: matrices A and vectors or matrices B of one dtype are wanted, "
            f"got {list(A.shape)} of {A.dtype} and {list(B.shape)} of {B.dtype}"
        )
    vectors = is_vectors(A, B)
    columns = B.unsqueeze(-1) if vectors else B
    if columns.shape[-2] != A.shape[-2]:
        raise RuntimeError(
            f"lstsq: as many rows of B as A has are wanted, got shapes {list(A.shape)} and {list(B.shape)}"
        )
    solution = linalg_pinv(A, rtol=rcond) @ columns
    m, n = A.shape[-2:]
    values = ops.linalg_svdvals(A.detach())
    rank = matrix_rank(A.detach(), rtol=rcond)
    residuals = ops.abs(solution).reshape([-1])[:0]  # none, but a function of the inputs as those that are
    if m > n and driver != "gelsy" and (driver == "gels" or bool(ops.all(ops.eq(rank, n)))):
        residuals = ops.sum(ops.square(ops.abs(A @ solution - columns)), -2)
        residuals = residuals.squeeze(-1) if vectors else residuals
    return LeastSquares(
        solution.squeeze(-1) if vectors else solution,
        residuals,
        rank.reshape([-1])[:0] if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else values.reshape([-1])[:0],
    )


@export(linalg=True)
def cond(A: Tensor, p: Order = None) -> Tensor:
    """The condition numbers of matrices: |A| |A⁻¹| in the norm p, or the ratio of the singular values (None, 2, -2)."""
    if A.ndim < 2:
        raise RuntimeError(f"cond: a matrix or a batch of matrices is wanted, got shape {list(A.shape)}")
    if p is None or p in (2, -2):
        values = ops.linalg_svdvals(A)
        if values.shape[-1] == 0:
            return ops.sum(values, -1)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"cond: for p = {p!r} square matrices are wanted, got shape {list(A.shape)}")
    if A.numel() == 0:
        return matrix_norm(A, "fro")
    inverse, info = ops.linalg_inv_ex(A)
    result = matrix_norm(A, p) * matrix_norm(inverse, p)
    return ops.where(ops.eq(info, 0), result, math.inf)
