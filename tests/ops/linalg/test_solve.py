import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_dtypes, check_gradients, matrices

ops = tw._registry.ops


def test_solve():
    check(
        tw.linalg.solve,
        np.linalg.solve,
        [Sample((matrices(3, 3), matrices(3, 2))), Sample((matrices(2, 3, 3), matrices(3, 2)))],
    )
    check(tw.linalg.solve, np.linalg.solve, [Sample((matrices(3, 3), matrices(1, 3)[0]))])
    check_dtypes(tw.linalg.solve, np.linalg.solve, [matrices(4, 1, 3, 3), matrices(2, 3, 2)])
    check_gradients(tw.linalg.solve, matrices(3, 3, is_complex=True), matrices(3, 2, is_complex=True))


def test_solve_from_the_right_and_vectors():
    a, b = matrices(2, 3, 3), matrices(2, 4, 3, seed=1)
    x = tw.linalg.solve(tw.tensor(a), tw.tensor(b), left=False)
    np.testing.assert_allclose(x.numpy() @ a, b, atol=1e-12)
    check_gradients(lambda a, b: tw.linalg.solve(a, b, left=False), a, b)
    vectors = tw.linalg.solve(tw.tensor(a), tw.tensor(b[:, 0]))  # one for each matrix
    np.testing.assert_allclose(np.einsum("bij,bj->bi", a, vectors.numpy()), b[:, 0], atol=1e-12)
    with pytest.raises(RuntimeError, match="left=False"):
        tw.linalg.solve(tw.tensor(a), tw.tensor(b[:, 0]), left=False)


def test_signatures_of_systems():
    a, b = matrices(4, 1, 3, 3), matrices(2, 3, 5)

    def reference(a, b, *_):
        return np.linalg.solve(a, b), np.zeros((4, 2), np.int32)

    check(ops.solve_matrices, reference, [Sample((a, b, True))], grad=False)
    check(ops.solve_triangular, lambda a, b, _: np.linalg.solve(np.tril(a), b), [Sample((a, b, False))], second=False)


def test_inv():
    check(tw.linalg.inv, np.linalg.inv, [Sample((matrices(3, 3),)), Sample((matrices(2, 2, 2),))])
    check_dtypes(tw.inverse, np.linalg.inv, [matrices(3, 4, 4)])
    check_gradients(tw.linalg.inv, matrices(3, 3, is_complex=True))

    def reference(x, **_):
        return np.linalg.inv(x), np.zeros(x.shape[:-2], np.int32)

    check(tw.linalg.inv_ex, reference, [Sample((matrices(5, 2, 2),)), Sample((matrices(0, 2, 2),))], grad=False)
    assert tw.linalg.inv(tw.zeros(2, 0, 0)).shape == (2, 0, 0)


def test_singular_matrices_are_named():
    a = tw.eye(3).repeat(4, 1, 1)
    a[2, 1, 1] = 0
    for call in (lambda: tw.linalg.inv(a), lambda: tw.linalg.solve(a, tw.ones(3, 1))):
        with pytest.raises(RuntimeError, match="invertible matrices are wanted, pivot 2 of matrix 2"):
            call()
    inverse, info = tw.linalg.inv_ex(a)
    assert info.tolist() == [0, 0, 2, 0] and inverse[1].tolist() == np.eye(3).tolist()
    assert tw.linalg.solve_ex(a, tw.ones(3, 1)).info.tolist() == [0, 0, 2, 0]
    with pytest.raises(RuntimeError, match="square matrices are wanted"):
        tw.linalg.inv(tw.ones(2, 3))
    with pytest.raises(RuntimeError, match="one dtype"):
        tw.linalg.solve(tw.eye(2), tw.ones(2, 1, dtype=tw.float64))
    with pytest.raises(RuntimeError, match="as many rows"):
        tw.linalg.solve(tw.eye(2), tw.ones(3, 1))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular(upper, unit):
    def triangle(a):
        a = np.triu(a) if upper else np.tril(a)
        return a - np.einsum("...ii->...i", a)[..., None, :] * np.eye(3) + np.eye(3) if unit else a

    def solve(a, b):
        return tw.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)

    a, b = matrices(2, 3, 3) + 3 * np.eye(3), matrices(3, 2)
    check_dtypes(solve, lambda a, b: np.linalg.solve(triangle(a), b), [a, b])
    check_gradients(solve, a, b)
    check_gradients(solve, a[0] * (1 + 1j), b * 1j)
    right = tw.linalg.solve_triangular(tw.tensor(a), tw.tensor(b.T), upper=upper, left=False, unitriangular=unit)
    np.testing.assert_allclose(right.numpy() @ triangle(a), np.broadcast_to(b.T, (2, 2, 3)), atol=1e-12)


def test_tensorsolve_and_tensorinv():
    a, b = matrices(6, 6).reshape(2, 3, 6), matrices(2, 3)
    check(tw.linalg.tensorsolve, np.linalg.tensorsolve, [Sample((a, b))])
    turned = np.moveaxis(a, 2, 0)
    check(lambda a, b: tw.linalg.tensorsolve(a, b, (0,)), lambda a, b: np.linalg.tensorsolve(a, b, (0,)),
          [Sample((turned, b))])  # fmt: skip
    check(tw.linalg.tensorinv, lambda a: np.linalg.tensorinv(a, 2), [Sample((a,))])


@pytest.mark.parametrize("n", [-1, -3])
def test_negative_powers(n):
    check(tw.matrix_power, np.linalg.matrix_power, [Sample((matrices(3, 3), n)), Sample((matrices(2, 2, 2), n))])
    check(tw.linalg.matrix_power, np.linalg.matrix_power, [Sample((matrices(3, 3), n))])


def test_autocast_widens():
    x = tw.tensor([[2.0, 1.0], [0.0, 4.0]], dtype=tw.bfloat16)
    with tw.autocast("cpu", dtype=tw.bfloat16):
        assert tw.linalg.inv(x).dtype == tw.linalg.svdvals(x).dtype == tw.float32
    with pytest.raises(RuntimeError, match="float32, float64"):
        tw.linalg.inv(x)
