import numpy as np
import pytest
import thalweg as tw
from harness import check, sample

F = tw.nn.functional


def cosine(a, b, dim=1):
    a, b = np.broadcast_arrays(a, b)
    return (a * b).sum(dim) / np.sqrt((a * a).sum(dim) * (b * b).sum(dim))


def test_cosine_similarity_broadcasts_before_it_sums():
    check(F.cosine_similarity, cosine, [sample((2, 3), (2, 3)), sample((1, 2, 3), (2, 1, 3), dim=-2)])


def test_multi_margin_loss_of_a_number():
    x = tw.tensor(2.0, requires_grad=True)
    loss = F.multi_margin_loss(x, tw.tensor(0))
    assert loss.shape == () and loss == 0
    assert tw.autograd.grad(loss, x)[0] == 0


def test_no_classes_are_refused():
    with pytest.raises(RuntimeError, match="at least one class"):
        F.multilabel_margin_loss(tw.zeros(0), tw.zeros(0).long())


def test_half_types_lose_no_digits_on_the_way():
    x, y = tw.tensor([12.3, -8.0, 3.1]).half(), tw.tensor([0.7, 1.0, 3.0]).half()
    expected = F.huber_loss(x.double(), y.double(), "none", 8.698115)
    assert F.huber_loss(x, y, "none", 8.698115).tolist() == expected.half().tolist()


def test_probabilities_in_half_types_are_summed_at_once():
    rng = np.random.default_rng(0)
    x, t = (tw.tensor(rng.normal(size=(5, 3, 40))).half() for _ in range(2))
    expected = F.cross_entropy(x.double(), t.double(), reduction="sum").item()
    assert abs(F.cross_entropy(x, t, reduction="sum").item() - expected) <= abs(expected) * 2e-3 + 0.02


def test_ignore_index_is_for_indices():
    with pytest.raises(RuntimeError, match="ignore_index"):
        F.cross_entropy(tw.zeros(2, 3), tw.zeros(2, 3), ignore_index=1)
    assert F.cross_entropy(tw.zeros(2, 3), tw.ones(2, 3), ignore_index=-1) > 0


def test_gaussian_nll_loss_shares_a_variance_along_one_dim():
    x, y, var = tw.tensor([[1.0, 2.0], [3.0, 5.0]]), tw.zeros(2, 2), tw.tensor([[1.0, 4.0]])
    expected = F.gaussian_nll_loss(x, y, var.expand(2, 2)).item()
    assert F.gaussian_nll_loss(x, y, var).item() == expected
    assert F.gaussian_nll_loss(x.t(), y, var.t()).item() == pytest.approx(expected)
    with pytest.raises(ValueError, match="does not fit"):
        F.gaussian_nll_loss(x, y, tw.ones(1, 1))
