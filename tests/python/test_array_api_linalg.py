"""The array API's extension for linear algebra, against NumPy's functions of the same names."""

import inspect

import numpy as np
import pytest
import thalweg as tw
from matrices import hermitian, matrices

xp = tw.tensor([1.0]).__array_namespace__()

SQUARE, TALL, POSITIVE = matrices(2, 3, 3), matrices(2, 4, 3), hermitian(2, 3, 3)
CALLS = [
    ("cholesky", (POSITIVE,), {}),
    ("cross", (SQUARE[:, :1], SQUARE[0]), {}),
    ("det", (SQUARE,), {}),
    ("diagonal", (TALL,), {"offset": 1}),
    ("eigh", (POSITIVE,), {}),
    ("eigvalsh", (POSITIVE,), {}),
    ("inv", (SQUARE,), {}),
    ("matmul", (TALL, SQUARE), {}),
    ("matrix_norm", (TALL,), {"ord": 2, "keepdims": True}),
    ("matrix_norm", (TALL,), {}),
    ("matrix_power", (SQUARE, -2), {}),
    ("matrix_rank", (TALL,), {"rtol": 0.5}),
    ("matrix_transpose", (TALL,), {}),
    ("outer", (SQUARE[0, 0], TALL[0, 0]), {}),
    ("pinv", (TALL,), {"rtol": 1e-10}),
    ("qr", (TALL,), {"mode": "complete"}),
    ("slogdet", (SQUARE,), {}),
    ("solve", (SQUARE, TALL[0, :3]), {}),
    ("solve", (SQUARE, SQUARE[0, 0]), {}),
    ("svd", (TALL,), {"full_matrices": False}),
    ("svdvals", (TALL,), {}),
    ("tensordot", (TALL, SQUARE), {"axes": ((2,), (1,))}),
    ("trace", (TALL,), {"offset": -1}),
    ("vecdot", (TALL, TALL[0]), {}),
    ("vector_norm", (TALL,), {"axis": (0, 1), "ord": 3}),
    ("vector_norm", (TALL,), {"keepdims": True}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=[call[0] for call in CALLS])
def test_as_numpy(name, args, kwargs):
    expected = getattr(np.linalg, name)(*args, **kwargs)
    got = getattr(xp.linalg, name)(*(tw.tensor(a) if isinstance(a, np.ndarray) else a for a in args), **kwargs)
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for ours, theirs in pairs:
        assert ours.shape == np.shape(theirs)
        np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-10)


def test_every_name_of_the_standard():
    assert sorted({call[0] for call in CALLS}) == sorted(xp.linalg.__all__)
    assert "linalg" in xp.__all__


def test_fields_are_named():
    x = tw.tensor(POSITIVE)
    assert xp.linalg.eigh(x).eigenvectors.shape == (2, 3, 3)
    assert xp.linalg.qr(x).Q.shape == xp.linalg.svd(x).Vh.shape == (2, 3, 3)
    assert xp.linalg.slogdet(x).logabsdet.shape == (2,)


def test_arrays_come_by_position():
    for name in xp.linalg.__all__:
        first = next(iter(inspect.signature(getattr(xp.linalg, name)).parameters.values()))
        assert first.kind is inspect.Parameter.POSITIONAL_ONLY


def test_what_a_right_side_is():
    """As many matrices as there are systems, not a vector for each."""
    a, b = tw.tensor(matrices(2, 2, 2)), tw.tensor(matrices(2, 2, seed=1))
    np.testing.assert_allclose(xp.linalg.solve(a, b).numpy(), np.linalg.solve(a.numpy(), b.numpy()[None]), atol=1e-12)
    assert xp.linalg.vector_norm(tw.tensor([-3.0, 0.0]), axis=(), ord=0).tolist() == [1, 0]
    assert xp.linalg.vector_norm(tw.tensor([-3.0, 0.0]), axis=()).tolist() == [3, 0]
    for axis in (0, -3):
        with pytest.raises(ValueError, match="negative axis"):
            xp.linalg.cross(tw.ones(2, 3), tw.ones(2, 3), axis=axis)
