import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_gradients, hermitian


def symmetric(function):
    """The same of a matrix made Hermitian first, so that every element counts in the gradient."""
    return lambda x: function((x + x.mH) / 2)


SAMPLES = [Sample((hermitian(3, 3),)), Sample((hermitian(4, 2, 2),)), Sample((hermitian(2, 1, 1),))]


def test_eigh():
    check(tw.linalg.eigh, lambda x: tuple(np.linalg.eigh(x)), SAMPLES, grad=False)
    check(symmetric(tw.linalg.eigh), lambda x: tuple(np.linalg.eigh(x)), SAMPLES)
    x = hermitian(2, 4, 4, is_complex=True)
    values, vectors = tw.linalg.eigh(tw.tensor(x))
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(x), atol=1e-12)
    np.testing.assert_allclose(((vectors * values.unsqueeze(-2)) @ vectors.mH).numpy(), x, atol=1e-12)
    values, vectors = tw.linalg.eigh(tw.zeros(2, 0, 0))
    assert values.shape == (2, 0) and vectors.shape == (2, 0, 0)


def test_eigvalsh():
    check(tw.linalg.eigvalsh, np.linalg.eigvalsh, SAMPLES, grad=False)
    check(symmetric(tw.linalg.eigvalsh), np.linalg.eigvalsh, SAMPLES)
    check_gradients(symmetric(tw.linalg.eigvalsh), hermitian(3, 3, is_complex=True))


def test_gradients_without_phases():
    def function(x):
        values, vectors = tw.linalg.eigh(x)
        return values, tw.abs(vectors), (vectors * values.sin().unsqueeze(-2)) @ vectors.mH

    check_gradients(symmetric(function), hermitian(3, 3, is_complex=True))


@pytest.mark.parametrize("uplo", ["L", "U", "u"])
def test_one_triangle_gives_the_values(uplo):
    x = hermitian(3, 3)
    half = np.tril(x) if uplo == "L" else np.triu(x)
    np.testing.assert_allclose(tw.linalg.eigvalsh(tw.tensor(half), uplo).numpy(), np.linalg.eigvalsh(x), atol=1e-12)


def test_errors():
    with pytest.raises(RuntimeError, match="UPLO must be"):
        tw.linalg.eigh(tw.eye(2), "X")
    with pytest.raises(RuntimeError, match="square"):
        tw.linalg.eigh(tw.ones(2, 3))
    with pytest.raises(RuntimeError, match="finite"):
        tw.linalg.eigvalsh(tw.full((2, 2), float("nan")))
