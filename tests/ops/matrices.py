"""Matrices for the tests of factorisations, and gradients of complex ones against finite differences."""

from collections.abc import Callable, Sequence

import numpy as np
import thalweg as tw


def matrices(*shape: int, seed: int = 0, is_complex: bool = False) -> np.ndarray:
    """Random matrices, square ones far from singular, with singular values far apart."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    if is_complex:
        x = x + 1j * rng.normal(size=shape)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * (1.0 + np.arange(s.shape[-1]))) @ vh


def hermitian(*shape: int, seed: int = 0, is_complex: bool = False) -> np.ndarray:
    """Random Hermitian matrices with eigenvalues 1, 2, 3, ..."""
    x = matrices(*shape, seed=seed, is_complex=is_complex)
    q = np.linalg.qr(x)[0]
    a = (q * (1.0 + np.arange(shape[-1]))) @ adjoint(q)
    return (a + adjoint(a)) / 2


def adjoint(x: np.ndarray) -> np.ndarray:
    """The conjugate transpose of every matrix."""
    return np.swapaxes(x, -1, -2).conj()


def check_gradients(function: Callable, *arrays: np.ndarray) -> None:
    """First and second order in float64 or complex128."""
    inputs = [tw.tensor(a, requires_grad=True) for a in arrays]
    assert tw.autograd.gradcheck(function, inputs)
    assert tw.autograd.gradgradcheck(function, inputs, atol=1e-4)


def check_dtypes(function: Callable, reference: Callable, arrays: Sequence[np.ndarray]) -> None:
    """Against NumPy in all four dtypes that matrices factorise in; complex ones are made of the real arrays."""
    for name, tolerance in (("float32", 2e-4), ("float64", 1e-10), ("complex64", 2e-4), ("complex128", 1e-10)):
        inputs = [a * (1 + 0.5j) if name.startswith("complex") else a for a in arrays]
        expected = reference(*inputs)
        got = function(*(tw.tensor(x).to(getattr(tw, name)) for x in inputs))
        pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
        for ours, theirs in pairs:
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance, atol=tolerance, err_msg=name)
