import math

import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample


@pytest.mark.parametrize("order", [2, 1, 0, 3, 2.5, 0.5, -1, math.inf, -math.inf])
def test_vector_norm(order):
    def reference(x, dim=None, keepdim=False):
        if dim is None:
            x, dim = x.reshape(-1), 0
        return np.linalg.norm(x, order, dim, keepdims=keepdim)

    samples = [sample((3, 4), low=0.2), sample((4, 3), dim=1), sample((4, 3), dim=0, keepdim=True)]
    check(lambda x, **k: tw.linalg.vector_norm(x, order, **k), reference, samples)


def test_zero_rows_have_zero_gradients():
    x = tw.zeros(3, requires_grad=True)
    tw.linalg.vector_norm(x).backward()
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("order", ["fro", 1, -1, math.inf, -math.inf, 2, -2, "nuc"])
def test_matrix_norm(order):
    check(
        lambda x: tw.linalg.matrix_norm(x, order),
        lambda x: np.linalg.norm(x, order, (-2, -1)),
        [sample((3, 4)), sample((2, 3, 4))],
    )
    check(lambda x: tw.linalg.norm(x, order), lambda x: np.linalg.norm(x, order), [sample((3, 4))])


def test_norms_of_singular_values():
    x = array((2, 3, 4))
    values = np.linalg.svd(x.transpose(1, 2, 0), compute_uv=False)
    nuclear = tw.linalg.matrix_norm(tw.tensor(x), "nuc", (2, 0), keepdim=True)
    np.testing.assert_allclose(nuclear.numpy(), values.sum(-1).reshape(1, 3, 1), rtol=1e-12)
    assert tw.linalg.matrix_norm(tw.ones(2, 2), 2, dtype=tw.float64).dtype == tw.float64
    check(lambda x: tw.norm(x, "nuc"), lambda x: np.linalg.norm(x, "nuc"), [sample((3, 4))])
    check(lambda x: tw.norm(x, "nuc", (0, 2)), lambda x: np.linalg.norm(x, "nuc", (0, 2)), [sample((2, 3, 4))])
    with pytest.raises(ValueError, match="dtype"):
        tw.norm(tw.ones(2, 2), "nuc", dtype=tw.float64)
    with pytest.raises(RuntimeError, match="two dims"):
        tw.norm(tw.ones(2, 2, 2), "nuc")


def test_norm_and_dist():
    check(
        tw.norm,
        lambda x, p=2, dim=None: np.linalg.norm(x, p, dim) if dim is not None else np.linalg.norm(x.reshape(-1), p),
        [sample((3, 4)), sample((3, 4), p=1), sample((3, 4), p=3, dim=1)],
    )
    check(
        tw.dist,
        lambda a, b, p=2: np.linalg.norm((a - b).reshape(-1), p),
        [sample((3, 4), (3, 4)), sample((3, 4), (4,), p=1)],
    )
    assert tw.norm(tw.tensor([3 + 4j])).item() == 5
    assert tw.norm(tw.tensor([3.0, 4.0], dtype=tw.float16)).dtype == tw.float16
    with pytest.raises(RuntimeError, match="empty dim"):
        tw.linalg.vector_norm(tw.zeros(0, 3), math.inf)


@pytest.mark.parametrize("p", [1, 2, 2.5, math.inf])
def test_renorm(p):
    def reference(x, dim):
        axes = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
        powers = (
            np.abs(x).max(axes, keepdims=True)
            if p == math.inf
            else (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)
        )
        return np.where(powers > 1.5, x * 1.5 / (powers + 1e-7), x)

    check(lambda x, dim: tw.renorm(x, p, dim, 1.5), reference, [sample((3, 4), dim=0), sample((2, 3, 4), dim=-1)])
    x = tw.tensor(array((3, 4)))
    assert x.renorm_(p, 0, 1.5) is x
    np.testing.assert_allclose(x.numpy(), reference(array((3, 4)), 0), rtol=1e-12)
    with pytest.raises(RuntimeError, match="renorm: at least two dims are wanted, got 1"):
        tw.renorm(tw.ones(3), p, 0, 1.0)
