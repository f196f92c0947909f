import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("i,j->ij", (2,), (3,)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("ij,kj,kl->il", (2, 3), (4, 3), (4, 5)),
    ("bn,anm,bm->ba", (2, 3), (5, 3, 4), (2, 4)), ("i...->...", (2, 3)), ("ab,cd->abcd", (2, 3), (2, 2)),
    ("tiijj->ij", (2, 3, 3, 4, 4)), ("ii...->i...", (3, 3, 5)), (" i j , j -> i ", (2, 3), (3,)),
]  # fmt: skip


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda case: case[0])
def test_equations(case):
    equation, *shapes = case
    check(lambda *x: tw.einsum(equation, *x), lambda *x: np.einsum(equation, *x), [sample(*shapes)])


def test_size_one_broadcasts():
    """numpy/numpy#11548, #5667."""
    a, b = np.arange(4.0).reshape(4, 1), np.array([[0.0, 2.0, 4.0]])
    assert tw.einsum("ik,jk->ij", tw.tensor(a), tw.tensor(b)).tolist() == [[0.0], [6.0], [12.0], [18.0]]


def test_sublists():
    a, b = tw.tensor(array((2, 3))), tw.tensor(array((3, 4)))
    np.testing.assert_allclose(tw.einsum(a, [0, 1], b, [1, 2], [0, 2]).numpy(), a.numpy() @ b.numpy(), rtol=1e-12)
    np.testing.assert_allclose(tw.einsum(a, [..., 0], [0, ...]).numpy(), a.numpy().T)


def test_messages():
    with pytest.raises(ValueError, match="letter i has sizes 3 and 1 in one operand"):
        tw.einsum("ii", tw.ones(3, 1))
    with pytest.raises(ValueError, match="letter j has sizes 3 and 4"):
        tw.einsum("ij,jk->ik", tw.ones(2, 3), tw.ones(4, 5))
    with pytest.raises(ValueError, match="the output names z"):
        tw.einsum("ij->iz", tw.ones(2, 3))
