import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_dtypes, check_gradients, hermitian, matrices

ops = tw._registry.ops
ZERO, SMALL = np.array(0.0), np.array(1e-13)


def test_pinv():
    samples = [Sample((matrices(*shape), ZERO, SMALL)) for shape in [(3, 3), (4, 2), (2, 4), (5, 3, 2), (3, 0), (0, 2)]]
    check(ops.pinv_matrices, lambda x, *_: np.linalg.pinv(x), samples[-2:], grad=False)
    check_dtypes(tw.linalg.pinv, np.linalg.pinv, [matrices(2, 4, 3)])
    for s in samples[:4]:
        check(tw.linalg.pinv, np.linalg.pinv, [Sample(s.args[:1])], exact=False)
        check(tw.pinverse, np.linalg.pinv, [Sample(s.args[:1])], grad=False, exact=False)


def test_signatures():
    tolerances = np.full((5,), 1e-13)
    for relative in (SMALL, tolerances):
        check(ops.pinv_matrices, lambda x, *_: np.linalg.pinv(x), [Sample((matrices(5, 3, 2), ZERO, relative))])
        samples = [Sample((hermitian(5, 2, 2), ZERO, relative, True))]
        check(ops.pinv_matrices, lambda x, *_: np.linalg.pinv(x, hermitian=True), samples, grad=False)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])
def test_matrices_of_lower_rank(shape, is_complex):
    u, v = matrices(shape[0], 2, is_complex=is_complex), matrices(2, shape[1], is_complex=is_complex)
    np.testing.assert_allclose(tw.linalg.pinv(tw.tensor(u @ v)).numpy(), np.linalg.pinv(u @ v), atol=1e-10)
    check_gradients(lambda u, v: tw.linalg.pinv(u @ v), u, v)


def test_tolerances():
    x = tw.diag(tw.tensor([4.0, 2.0, 1.0], dtype=tw.float64))
    for kwargs in ({"atol": 1.5}, {"rtol": 0.3}, {"rcond": 0.3}, {"atol": tw.tensor(1.5)}):
        for is_hermitian in (False, True):
            got = tw.linalg.pinv(x, hermitian=is_hermitian, **kwargs)
            np.testing.assert_allclose(got.numpy(), np.diag([0.25, 0.5, 0.0]), atol=1e-12)


@pytest.mark.parametrize("is_complex", [False, True])
def test_hermitian(is_complex):
    x = hermitian(2, 3, 3, is_complex=is_complex) - 2.5 * np.eye(3)
    np.testing.assert_allclose(tw.linalg.pinv(tw.tensor(x), hermitian=True).numpy(), np.linalg.inv(x), atol=1e-10)
    check_gradients(lambda x: tw.linalg.pinv((x + x.mH) / 2, hermitian=True), x)
    lower = np.tril(x)  # one triangle is read
    np.testing.assert_allclose(tw.linalg.pinv(tw.tensor(lower), hermitian=True).numpy(), np.linalg.inv(x), atol=1e-10)


def test_errors():
    with pytest.raises(RuntimeError, match="finite"):
        tw.linalg.pinv(tw.full((2, 2), float("nan")))
    with pytest.raises(RuntimeError, match="a matrix or a batch"):
        tw.linalg.pinv(tw.ones(2))


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_least_squares(shape, driver):
    a, b = matrices(2, *shape), matrices(2, shape[0], 2, seed=1)
    got = tw.linalg.lstsq(tw.tensor(a), tw.tensor(b), driver=driver)
    for i in range(2):
        solution, residuals, rank, values = np.linalg.lstsq(a[i], b[i], rcond=None)
        np.testing.assert_allclose(got.solution[i].numpy(), solution, atol=1e-12)
        if driver not in (None, "gelsy") and shape[0] > shape[1]:
            np.testing.assert_allclose(got.residuals[i].numpy(), residuals, atol=1e-12)
        else:
            assert got.residuals.numel() == 0
        assert got.rank.numel() == 0 if driver == "gels" else got.rank[i] == rank
        if driver in ("gelsd", "gelss"):
            np.testing.assert_allclose(got.singular_values[i].numpy(), values)
    vector = tw.linalg.lstsq(tw.tensor(a[0]), tw.tensor(b[0, :, 0]), driver=driver)
    np.testing.assert_allclose(vector.solution.numpy(), got.solution[0, :, 0].numpy(), atol=1e-12)
    check_gradients(lambda a, b: tw.linalg.lstsq(a, b).solution, a, b)
    with pytest.raises(RuntimeError, match="driver must be"):
        tw.linalg.lstsq(tw.ones(2, 2), tw.ones(2, 2), driver="qr")
