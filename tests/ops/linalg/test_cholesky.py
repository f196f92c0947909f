import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import adjoint, check_gradients, hermitian, matrices


def symmetric(function):
    """The same of a matrix made Hermitian first, so that every element counts in the gradient."""
    return lambda x, **k: function((x + x.mH) / 2, **k)


def test_cholesky():
    samples = [Sample((hermitian(3, 3),)), Sample((hermitian(2, 4, 4),)), Sample((hermitian(2, 1, 1),))]
    check(symmetric(tw.linalg.cholesky), np.linalg.cholesky, samples)
    check(symmetric(tw.cholesky), np.linalg.cholesky, samples[:1])
    check_gradients(symmetric(tw.linalg.cholesky), hermitian(3, 3, is_complex=True))
    x = hermitian(3, 3, is_complex=True)
    np.testing.assert_allclose(tw.linalg.cholesky(tw.tensor(x)).numpy(), np.linalg.cholesky(x), atol=1e-12)
    assert tw.linalg.cholesky(tw.zeros(2, 0, 0)).shape == (2, 0, 0)


def test_upper():
    x = hermitian(2, 3, 3, is_complex=True)
    upper = tw.linalg.cholesky(tw.tensor(x), upper=True)
    np.testing.assert_allclose(upper.numpy(), adjoint(np.linalg.cholesky(x)), atol=1e-12)
    check_gradients(symmetric(lambda x: tw.linalg.cholesky(x, upper=True)), hermitian(3, 3))


def test_one_triangle_is_read():
    x = hermitian(3, 3)
    garbage = np.triu(np.full((3, 3), np.nan), 1)
    np.testing.assert_allclose(
        tw.linalg.cholesky(tw.tensor(np.tril(x) + garbage)).numpy(), np.linalg.cholesky(x), atol=1e-12
    )


def test_signatures_and_info():
    def reference(x):
        return np.linalg.cholesky(x), np.zeros(x.shape[:-2], np.int32)

    check(tw.linalg.cholesky_ex, reference, [Sample((hermitian(5, 2, 2),))], grad=False)
    x = tw.tensor(hermitian(3, 2, 2))
    x[1] = -x[1]
    assert tw.linalg.cholesky_ex(x).info.tolist() == [0, 1, 0]
    with pytest.raises(RuntimeError, match="positive definite matrices are wanted, .* order 1 of matrix 1"):
        tw.linalg.cholesky(x)


@pytest.mark.parametrize("upper", [False, True])
def test_solving_with_the_factor(upper):
    a, b = hermitian(2, 3, 3, is_complex=True), matrices(2, 3, 2, is_complex=True)
    factor = tw.linalg.cholesky(tw.tensor(a), upper=upper)
    np.testing.assert_allclose(
        tw.cholesky_solve(tw.tensor(b), factor, upper).numpy(), np.linalg.solve(a, b), atol=1e-12
    )
    np.testing.assert_allclose(tw.cholesky_inverse(factor, upper).numpy(), np.linalg.inv(a), atol=1e-12)

    def from_whole_factor(b, x):
        return tw.cholesky_solve(b, x.triu() if upper else x.tril(), upper)

    check_gradients(from_whole_factor, b[0], matrices(3, 3, is_complex=True))
    op, factor = tw._registry.ops.solve_factored, np.linalg.cholesky(hermitian(4, 3, 3))
    factor = adjoint(factor) if upper else factor
    whole = adjoint(factor) @ factor if upper else factor @ adjoint(factor)
    check(op, lambda x, b, _: np.linalg.solve(whole, b), [Sample((factor, matrices(4, 3, 2), upper))], grad=False)
