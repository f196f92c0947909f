import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_gradients, matrices

# A rotation beside a stretch: a conjugate pair among the eigenvalues.
PAIR = np.array([[1.0, -2.0, 0.5], [2.0, 1.0, 0.3], [0.1, 0.2, 4.0]])


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (6, 1, 1)])
def test_eig(shape, is_complex):
    x = matrices(*shape, is_complex=is_complex)
    values, vectors = tw.linalg.eig(tw.tensor(x))
    np.testing.assert_allclose(
        (tw.tensor(x + 0j) @ vectors).numpy(), (vectors * values.unsqueeze(-2)).numpy(), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.norm(vectors.numpy(), axis=-2), 1, atol=1e-12)
    np.testing.assert_allclose(tw.linalg.eigvals(tw.tensor(x)).numpy(), np.linalg.eigvals(x), atol=1e-12)


def test_dtypes_and_signatures():
    samples = [Sample((np.stack([PAIR, PAIR.T, PAIR + 1]),)), Sample((PAIR,))]
    check(tw.linalg.eig, lambda x: tuple(np.linalg.eig(x)), samples, grad=False, dtypes=("float64",))
    check(tw.linalg.eigvals, lambda x: np.linalg.eigvals(x), samples)
    assert tw.linalg.eig(tw.eye(2)).eigenvectors.dtype == tw.complex64
    values, vectors = tw.linalg.eig(tw.zeros(2, 0, 0))
    assert values.shape == (2, 0) and vectors.shape == (2, 0, 0)


@pytest.mark.parametrize("is_complex", [False, True])
def test_gradients(is_complex):
    def without_phases(x):
        values, vectors = tw.linalg.eig(x)
        return values, tw.abs(vectors), (vectors * values.sin().unsqueeze(-2)) @ tw.linalg.inv(vectors)

    x = PAIR * (1 + 0.3j) + np.diag([0, 1j, 0]) if is_complex else PAIR
    check_gradients(without_phases, x)
    check_gradients(tw.linalg.eigvals, x)


def test_errors():
    with pytest.raises(RuntimeError, match="square"):
        tw.linalg.eig(tw.ones(2, 3))
    with pytest.raises(RuntimeError, match="finite"):
        tw.linalg.eigvals(tw.full((2, 2), float("nan")))
