import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_gradients, matrices

ops = tw._registry.ops
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 4, 3), (0, 3), (3, 0)]


def factor(x):
    """By elimination with the largest pivot."""
    lu, k = x.copy(), min(x.shape[-2:])
    pivots, flat = np.zeros((*x.shape[:-2], k), np.int32), lu.reshape(-1, *x.shape[-2:])
    for a, p in zip(flat, pivots.reshape(-1, k), strict=True):
        for i in range(k):
            row = i + np.argmax(np.abs(a[i:, i]))
            p[i] = row + 1
            a[[i, row]] = a[[row, i]]
            a[i + 1 :, i] /= a[i, i]
            a[i + 1 :, i + 1 :] -= np.outer(a[i + 1 :, i], a[i, i + 1 :])
    return lu, pivots, np.zeros(x.shape[:-2], np.int32)


def test_factors():
    check(ops.linalg_lu_factor_ex, factor, [Sample((matrices(*shape),)) for shape in SHAPES[:4]])
    packed = tw.linalg.lu_factor(tw.tensor(matrices(2, 3, 3)))
    np.testing.assert_allclose(packed.LU.numpy(), factor(matrices(2, 3, 3))[0], atol=1e-12)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_taken_apart(shape, is_complex):
    x = matrices(*shape, is_complex=is_complex)
    p, lower, upper = tw.linalg.lu(tw.tensor(x))
    np.testing.assert_allclose((p @ lower @ upper).numpy(), x, atol=1e-12)
    assert np.abs(np.triu(lower.numpy(), 1)).sum() == np.abs(np.tril(upper.numpy(), -1)).sum() == 0
    packed = tw.linalg.lu_factor_ex(tw.tensor(x))
    for ours, theirs in zip(tw.lu_unpack(packed.LU, packed.pivots), (p, lower, upper), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    assert [t.numel() for t in tw.lu_unpack(packed.LU, packed.pivots, False, False)] == [0, 0, 0]


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_gradients(shape, is_complex):
    x = matrices(*shape, is_complex=is_complex)
    check_gradients(lambda x: tw.linalg.lu(x)[1:], x)
    check_gradients(lambda x: tw.linalg.lu_factor_ex(x)[0], x)


@pytest.mark.parametrize("is_adjoint", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_solutions(left, is_adjoint):
    for is_complex in (False, True):
        a, b = (matrices(*s, is_complex=is_complex) for s in ((2, 3, 3), (3, 2) if left else (2, 3)))
        wanted = np.swapaxes(a.conj(), -1, -2) if is_adjoint else a
        lu, pivots, _ = tw.linalg.lu_factor_ex(tw.tensor(a))
        x = tw.linalg.lu_solve(lu, pivots, tw.tensor(b), left=left, adjoint=is_adjoint).numpy()
        np.testing.assert_allclose(wanted @ x if left else x @ wanted, np.broadcast_to(b, x.shape), atol=1e-12)

        def solve(lu, b, pivots=pivots):
            return tw.linalg.lu_solve(lu, pivots, b, left=left, adjoint=is_adjoint)

        check_gradients(solve, lu.numpy(), b)


def test_signatures():
    a, b = matrices(4, 1, 3, 3), matrices(2, 3, 5)
    lu, pivots, _ = factor(a)
    check(ops.lu_solve_matrices, lambda *_: np.linalg.solve(a, b), [Sample((lu, pivots, b))], grad=False)
    check(
        ops.permutation_of_pivots,
        lambda *_: np.array([[1, 2, 0], [0, 2, 1]]),
        [Sample((np.array([[2, 3], [1, 3]], np.int32), 3))],
        grad=False,
    )
    np.testing.assert_allclose(
        tw.lu_solve(*(tw.tensor(t) for t in (b, lu[0], pivots[0]))).numpy(), np.linalg.solve(a[0], b), atol=1e-12
    )


def test_errors():
    lu, pivots = tw.linalg.lu_factor(tw.eye(2))
    with pytest.raises(IndexError, match="pivots from 1 to 2 are wanted, got 3"):
        tw.linalg.lu_solve(lu, tw.tensor([1, 3], dtype=tw.int32), tw.ones(2, 1))
    with pytest.raises(IndexError, match="pivots from 1 to 2"):
        tw.lu_unpack(lu, tw.tensor([0, 1], dtype=tw.int32))
    with pytest.raises(RuntimeError, match="pivots of int32"):
        tw.linalg.lu_solve(lu, pivots.long(), tw.ones(2, 1))
    with pytest.raises(RuntimeError, match="invertible"):
        tw.linalg.lu_factor(tw.zeros(2, 2))
    with pytest.raises(RuntimeError, match="pivot must be True"):
        tw.linalg.lu_factor(tw.eye(2), pivot=False)
