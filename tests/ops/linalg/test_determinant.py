import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_dtypes, check_gradients, matrices

ops = tw._registry.ops
SAMPLES = [Sample((matrices(3, 3),)), Sample((matrices(4, 2, 2),)), Sample((matrices(2, 1, 1),))]


def cofactors(x):
    """By minors."""
    n = x.shape[-1]
    result = np.empty_like(x)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(x, i, -2), j, -1)
            result[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return result


def test_det():
    check(tw.linalg.det, np.linalg.det, SAMPLES)
    check_dtypes(tw.det, np.linalg.det, [matrices(2, 4, 4)])
    check_gradients(tw.linalg.det, matrices(3, 3, is_complex=True))
    assert tw.linalg.det(tw.zeros(2, 0, 0)).tolist() == [1, 1]


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("is_complex", [False, True])
def test_the_gradient_of_det_is_right_for_singular_matrices(rank, is_complex):
    u, v = matrices(3, 3, is_complex=is_complex), matrices(3, 3, seed=1, is_complex=is_complex)
    x = u[:, :rank] @ v[:rank]
    check_gradients(tw.linalg.det, x)
    check_gradients(lambda x: tw.linalg.det(x) ** 2 + x.sum(), x)


def test_cofactors():
    check(ops.linalg_cofactor, cofactors, SAMPLES)
    singular = np.outer(np.arange(1.0, 4.0), np.arange(3.0)) + np.diag([1.0, 0.0, 0.0])
    check(ops.linalg_cofactor, cofactors, [Sample((singular,)), Sample((np.zeros((2, 2)),))])
    check_gradients(ops.linalg_cofactor, matrices(3, 3, is_complex=True))
    x = tw.tensor([[float("nan"), 1.0], [2.0, 3.0]], requires_grad=True)
    tw.linalg.det(x).backward()
    assert tw.isnan(x.grad).any()


def test_slogdet():
    check(tw.linalg.slogdet, lambda x: tuple(np.linalg.slogdet(x)), SAMPLES)
    check_dtypes(tw.slogdet, lambda x: tuple(np.linalg.slogdet(x)), [matrices(2, 4, 4)])
    check_gradients(tw.linalg.slogdet, matrices(3, 3, is_complex=True))
    large = tw.linalg.slogdet(tw.eye(400) * 10)
    assert large.sign.item() == 1 and large.logabsdet.item() == pytest.approx(400 * np.log(10))
    singular = tw.linalg.slogdet(tw.ones(2, 2))
    assert singular.sign.item() == 0 and singular.logabsdet.item() == -float("inf")


def test_logdet():
    positive = matrices(2, 3, 3) * np.sign(np.linalg.det(matrices(2, 3, 3)))[:, None, None]
    check(tw.logdet, lambda x: np.log(np.linalg.det(x)), [Sample((positive,))])
    assert tw.isnan(tw.logdet(-tw.eye(3)))
    x = matrices(3, 3, is_complex=True)
    assert tw.logdet(tw.tensor(x)).item() == pytest.approx(np.log(np.linalg.det(x)))


def test_not_square():
    for function in (tw.linalg.det, tw.linalg.slogdet):
        with pytest.raises(RuntimeError, match=r"square matrices are wanted, got shape \[2, 3\]"):
            function(tw.ones(2, 3))
