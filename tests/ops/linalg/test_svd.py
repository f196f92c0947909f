import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_gradients, matrices


def samples(**kwargs):
    return [Sample((matrices(*shape),), kwargs) for shape in [(3, 3), (4, 2), (2, 4), (2, 3, 4, 3), (5, 0, 3, 2)]]


@pytest.mark.parametrize("full", [True, False])
def test_svd(full):
    check(
        tw.linalg.svd,
        lambda x, full_matrices: tuple(np.linalg.svd(x, full_matrices)),
        samples(full_matrices=full),
        grad=False,
        dtypes=("float32", "float64", "complex64", "complex128"),
    )


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (4, 20, 20)])
def test_factors_are_orthonormal_and_give_the_matrix(shape, is_complex):
    x = matrices(*shape, is_complex=is_complex)
    u, s, vh = tw.linalg.svd(tw.tensor(x))
    k = s.shape[-1]
    for q in (u, vh):
        np.testing.assert_allclose((q.mH @ q).numpy(), np.broadcast_to(np.eye(q.shape[-1]), q.shape), atol=1e-12)
    np.testing.assert_allclose(((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]).numpy(), x, atol=1e-12)
    factors = tw.svd(tw.tensor(x))
    np.testing.assert_allclose(((factors.U * factors.S.unsqueeze(-2)) @ factors.V.mH).numpy(), x, atol=1e-12)


def test_svdvals():
    check(tw.linalg.svdvals, lambda x: np.linalg.svd(x, compute_uv=False), samples())
    check_gradients(tw.linalg.svdvals, matrices(2, 3, 2, is_complex=True))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_gradients(shape):
    check_gradients(lambda x: tw.linalg.svd(x, False), matrices(*shape))
    check_gradients(lambda x: tw.linalg.svd(x)[1], matrices(*shape))

    def without_phases(x):
        u, s, vh = tw.linalg.svd(x, full_matrices=False)
        return tw.abs(u), s, tw.abs(vh), (u * s.sin().unsqueeze(-2)) @ vh

    check_gradients(without_phases, matrices(*shape, is_complex=True))


def test_matrices_without_elements():
    u, s, vh = tw.linalg.svd(tw.zeros(2, 0, 3))
    assert u.shape == (2, 0, 0) and s.shape == (2, 0) and vh.tolist() == [np.eye(3).tolist()] * 2
    u, _, vh = tw.linalg.svd(tw.zeros(3, 0), full_matrices=False)
    assert u.shape == (3, 0) and vh.shape == (0, 0)
    x = tw.zeros(0, 3, requires_grad=True)
    tw.linalg.svdvals(x).sum().backward()
    assert x.grad.shape == (0, 3)


def test_svd_without_vectors():
    x = matrices(3, 2)
    factors = tw.svd(tw.tensor(x), compute_uv=False)
    np.testing.assert_allclose(factors.S.numpy(), np.linalg.svd(x, compute_uv=False))
    assert factors.U.tolist() == np.zeros((3, 3)).tolist() and factors.V.shape == (2, 2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("function", [tw.linalg.svd, tw.linalg.svdvals])
def test_what_is_not_finite_is_refused(function, bad):
    x = tw.ones(4, 3, 3)
    x[2, 1, 0] = bad
    with pytest.raises(RuntimeError, match="finite numbers are wanted"):
        function(x)


@pytest.mark.parametrize(
    "make", [lambda: tw.ones(3), lambda: tw.ones(2, 2, dtype=tw.int64), lambda: tw.ones(2, 2, dtype=tw.float16)]
)
def test_what_is_no_matrix_of_floats_is_refused(make):
    with pytest.raises(RuntimeError, match="wanted, got"):
        tw.linalg.svd(make())
    with pytest.raises(RuntimeError, match="driver"):
        tw.linalg.svd(tw.ones(2, 2), driver="gesvd")


def test_results_do_not_depend_on_the_number_of_threads():
    x, before = tw.tensor(matrices(40, 12, 9)).float(), tw.get_num_threads()
    results = []
    for threads in (1, 2):
        tw.set_num_threads(threads)
        results.append(tw.linalg.svd(x))
    tw.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_rank_and_condition():
    x = np.stack([matrices(4, 3), np.outer(np.arange(4.0), np.arange(3.0)), np.zeros((4, 3))])
    assert tw.linalg.matrix_rank(tw.tensor(x)).tolist() == [3, 1, 0]
    assert tw.linalg.matrix_rank(tw.tensor(x), atol=1.5).tolist() == [2, 1, 0]
    assert tw.linalg.matrix_rank(tw.tensor(x), rtol=0.5).tolist() == [2, 1, 0]
    assert tw.linalg.matrix_rank(tw.eye(3), hermitian=True).item() == 3
    square = matrices(3, 3)
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        np.testing.assert_allclose(tw.linalg.cond(tw.tensor(square), p).item(), np.linalg.cond(square, p))
    assert tw.linalg.cond(tw.ones(2, 2), 1).item() == float("inf")
