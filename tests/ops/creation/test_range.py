import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check
from thalweg._registry import LINALG, ops


@pytest.mark.parametrize("args", [(5,), (2, 9), (1, 10, 3), (5, 0, -2), (0.5, 2.1, 0.4), (1.0, 1.0), (3, 3)])
def test_arange(args):
    expected = np.arange(*args)
    result = tw.arange(*args)
    assert result.dtype == (tw.int64 if expected.dtype.kind == "i" else tw.float32)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("args", [(0, 5, 0), (0, 5, -1), (0, float("inf"))])
def test_arange_refuses_what_never_ends(args):
    with pytest.raises(RuntimeError, match="arange"):
        tw.arange(*args)


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 50])
def test_linspace_meets_both_ends(steps):
    np.testing.assert_allclose(tw.linspace(-3, 0.1, steps, dtype=tw.float64).numpy(), np.linspace(-3, 0.1, steps))
    if steps > 1:
        assert tw.linspace(-3, 0.1, steps, dtype=tw.float64)[-1].item() == 0.1


def test_linspace_fill_is_complex():
    result = ops.linspace_fill(3, 0j, 2 + 2j, tw.complex128)
    assert result.tolist() == [0, 1 + 1j, 2 + 2j]
    assert ops.range_fill(3, 1, 2, tw.uint8).tolist() == [1, 3, 5]
    assert tw.range(1, 2, 0.5).tolist() == [1, 1.5, 2]


def test_logspace():
    np.testing.assert_allclose(tw.logspace(0, 3, 4, dtype=tw.float64).numpy(), np.logspace(0, 3, 4))
    np.testing.assert_allclose(tw.logspace(0, 3, 4, base=2).numpy(), [1, 2, 4, 8])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2), (0, 2)])
def test_eye(shape):
    np.testing.assert_array_equal(tw.eye(*shape).numpy(), np.eye(*shape))


def test_vander():
    check(tw.vander, np.vander, [Sample((array((3,)),)), Sample((array((3,)),), {"N": 2})])
    check(LINALG["vander"], lambda x: np.vander(x, increasing=True), [Sample((array((4,)),))])
    assert LINALG["vander"](tw.tensor(3.0), N=3).tolist() == [[1, 3, 9]]


def test_fill_diagonal():
    for shape, wrap in [((3, 4), False), ((7, 2), True), ((2, 2, 2), False)]:
        expected = np.zeros(shape)
        np.fill_diagonal(expected, 3, wrap=wrap)
        np.testing.assert_array_equal(tw.zeros(shape).fill_diagonal_(3, wrap).numpy(), expected)


def test_copy():
    x = tw.zeros(2, 3)
    assert x.copy_(tw.tensor([1, 2, 3]), non_blocking=True) is x
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_vander_of_a_number():
    assert tw.linalg.vander(tw.tensor(3.0), N=3).tolist() == [[1.0, 3.0, 9.0]]
