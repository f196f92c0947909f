"""Factorisations on CUDA: what is unique against LAPACK's, vectors by what they make, gradients, and errors."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import linalg
from thalweg._registry import ops

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(3, 5, 5), (1, 1), (2, 7, 3), (2, 3, 7), (40, 40), (2, 2, 0, 0)]
SQUARE = [(3, 5, 5), (1, 1), (2, 1, 4, 4), (37, 37), (0, 3, 3)]
TOLERANCE = {"float32": 2e-4, "float64": 1e-10, "complex64": 2e-4, "complex128": 1e-10}


def make(shape, dtype, seed=0):
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    return tw.tensor(values).to(getattr(tw, dtype))


def close(got, expected, dtype):
    assert got.is_cuda and got.shape == expected.shape and got.dtype == expected.dtype
    tolerance = TOLERANCE[dtype] * max(1.0, float(np.abs(expected.numpy()).max(initial=0)))
    np.testing.assert_allclose(got.cpu().numpy(), expected.numpy(), rtol=tolerance, atol=tolerance)


def same(function, *tensors, dtype):
    results, expected = function(*(t.cuda() for t in tensors)), function(*tensors)
    for got, want in zip(*(r if isinstance(r, (tuple, list)) else [r] for r in (results, expected)), strict=True):
        close(got, want, dtype) if want.dtype.is_floating_point or want.is_complex() else check_equal(got, want)


def check_equal(got, want):
    assert got.is_cuda and (got.cpu() == want).all()


def well_placed(shape, dtype):
    """Matrices far from singular."""
    n = shape[-1]
    return make(shape, dtype) + tw.eye(n, dtype=getattr(tw, dtype)) * (2.0 * n**0.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_and_solutions(dtype):
    for shape in SHAPES:
        same(ops.linalg_lu_factor_ex, make(shape, dtype), dtype=dtype)
    for shape in SQUARE:
        a, b = well_placed(shape, dtype), make((*shape[:-1], 3), dtype, 1)
        same(linalg.solve, a, b, dtype=dtype)
        same(linalg.inv, a, dtype=dtype)
        same(lambda a: linalg.inv(a.mT), a, dtype=dtype)
        for adjoint in (False, True):
            same(lambda a, b, h=adjoint: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=h), a, b, dtype=dtype)
        same(lambda a: linalg.lu(a), a, dtype=dtype)
        for upper in (False, True):
            same(lambda a, b, u=upper: linalg.solve_triangular(a, b, upper=u), a, b, dtype=dtype)
            same(lambda a, b, u=upper: ops.solve_triangular(a, b, u, True), a / 9, b, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    for shape in SQUARE:
        a, b = make(shape, dtype), make((*shape[:-1], 2), dtype, 1)
        a = a @ a.mH + tw.eye(shape[-1], dtype=a.dtype)
        for upper in (False, True):
            same(lambda a, u=upper: linalg.cholesky(a, upper=u), a, dtype=dtype)
            same(lambda a, b, u=upper: tw.cholesky_solve(b, linalg.cholesky(a, upper=u), u), a, b, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinants(dtype):
    for shape in [*SQUARE, (2, 0, 0)]:
        a = make(shape, dtype)
        same(linalg.det, a, dtype=dtype)
        same(linalg.slogdet, a, dtype=dtype)
        same(ops.linalg_cofactor, a[..., :6, :6], dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cofactors_of_singular_matrices(dtype):
    for rank in (4, 3, 1, 0):
        a = make((2, 5, rank), dtype) @ make((2, rank, 5), dtype, 1) if rank else make((2, 5, 5), dtype) * 0
        same(ops.linalg_cofactor, a, dtype=dtype)
    a = tw.tensor([[1.0, 2.0], [2.0, 4.0]], device="cuda", requires_grad=True)
    linalg.det(a).backward()
    assert a.grad.tolist() == [[4, -2], [-2, 1]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_qr(dtype):
    for shape in SHAPES:
        for mode in ("reduced", "complete", "r"):
            same(lambda a, m=mode: linalg.qr(a, m), make(shape, dtype), dtype=dtype)
    same(linalg.qr, make((2, 4, 4), dtype) * 0, dtype=dtype)


def check_orthonormal(q, dtype):
    unit = tw.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], -1, -1)
    close(q.mH @ q, unit, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_values(dtype):
    low = make((2, 9, 3), dtype) @ make((2, 3, 6), dtype, 1)
    for a in [*(make(shape, dtype) for shape in SHAPES), low, low.mT, low * 0]:
        same(linalg.svdvals, a, dtype=dtype)
        for full in (False, True):
            u, s, vh = linalg.svd(a.cuda(), full_matrices=full)
            close(s, linalg.svdvals(a), dtype)
            check_orthonormal(u, dtype)
            check_orthonormal(vh.mH, dtype)
            k = s.shape[-1]
            close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a, dtype)
        same(linalg.pinv, a, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues(dtype):
    for shape in SQUARE:
        a = make(shape, dtype)
        for uplo in ("L", "U"):
            same(lambda a, u=uplo: linalg.eigvalsh(a, UPLO=u), a, dtype=dtype)
        a = (a + a.mH) / 2
        values, vectors = linalg.eigh(a.cuda())
        close(values, linalg.eigvalsh(a), dtype)
        check_orthonormal(vectors, dtype)
        close(vectors * values.unsqueeze(-2) @ vectors.mH, a, dtype)
        same(lambda a: linalg.pinv(a, hermitian=True), a, dtype=dtype)
    for a in (tw.zeros(3, 3), tw.eye(4), -tw.eye(3), tw.ones(5, 5)):
        same(linalg.eigvalsh, a.to(getattr(tw, dtype)), dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponentials(dtype):
    """Matrices of a batch that are halved never and often."""
    for shape in SQUARE:
        a = make(shape, dtype) / 3
        scale = tw.tensor([[[40.0]], [[0.1]], [[3.0]]]) if len(shape) == 3 and shape[0] == 3 else 1.0
        result, expected = linalg.matrix_exp((a * scale).cuda()), linalg.matrix_exp(a * scale)
        size = float(expected.abs().max()) if expected.numel() else 1.0
        assert (result.cpu() - expected).abs().numpy().max(initial=0) < 1e-4 * size
    half = make((4, 4), "float32").to(tw.bfloat16)
    np.testing.assert_allclose(
        linalg.matrix_exp(half.cuda()).cpu().float().numpy(),
        linalg.matrix_exp(half).float().numpy(),
        rtol=2e-2,
        atol=2e-2,
    )
    assert linalg.matrix_exp(tw.full((2, 2), float("inf"), device="cuda")).cpu().isnan().all()


def test_gradients():
    def gradient(function, a):
        a = a.detach().requires_grad_()
        function(a).abs().sum().backward()
        return a.grad

    for function in (linalg.inv, linalg.det, linalg.svdvals, linalg.eigvalsh, linalg.pinv, lambda a: linalg.qr(a)[1]):
        same(lambda a, f=function: gradient(f, a), make((2, 4, 4), "float64"), dtype="float64")


def test_errors_are_told_to_who_waits():
    singular = tw.ones(3, 3, device="cuda")
    for function in (linalg.inv, lambda a: linalg.solve(a, a)):
        with pytest.raises(RuntimeError, match="invertible matrices are wanted, pivot 2 of matrix 0"):
            function(singular).cpu()
    with pytest.raises(RuntimeError, match="cholesky.*the leading minor of order 2 of matrix 0 of the batch"):
        linalg.cholesky(singular).cpu()
    with pytest.raises(RuntimeError, match="svd.*finite numbers are wanted"):
        linalg.svdvals(singular * float("nan")).cpu()
    with pytest.raises(IndexError, match="pivots from 1 to 3 are wanted, got 7"):
        pivots = tw.full((3,), 7, dtype=tw.int32, device="cuda")
        ops.lu_solve_matrices(singular, pivots, singular, False).cpu()
    assert singular.sum().item() == 9
