import itertools
import math

import numpy as np
import pytest
import thalweg as tw

F = tw.nn.functional


def probability(log_probs, target, blank):
    """The sum over all paths, by enumeration."""
    steps, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        merged = [c for c, _ in itertools.groupby(path)]
        if [c for c in merged if c != blank] == target:
            total += math.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return total


@pytest.mark.parametrize("blank", [0, 2])
def test_against_enumeration(blank):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(5, 3, 3))
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    others = [c for c in range(3) if c != blank]
    targets = [[others[0], others[1]], [others[1], others[1], others[0]], []]
    padded = [t + [blank] * (3 - len(t)) for t in targets]
    lengths = [5, 4, 3]
    expected = [
        -math.log(probability(log_probs[:n, i], t, blank))
        for i, (n, t) in enumerate(zip(lengths, targets, strict=True))
    ]
    x = tw.tensor(log_probs, requires_grad=True)
    sizes = [len(t) for t in targets]
    losses = F.ctc_loss(x, tw.tensor(padded), lengths, sizes, blank, "none")
    np.testing.assert_allclose(losses.detach().numpy(), expected)
    flat = tw.tensor([c for t in targets for c in t])
    assert F.ctc_loss(x, flat, tw.tensor(lengths), tw.tensor(sizes), blank, "sum").item() == pytest.approx(
        sum(expected)
    )
    mean = sum(e / max(s, 1) for e, s in zip(expected, sizes, strict=True)) / 3
    assert tw.ctc_loss(x, flat, lengths, sizes, blank).item() == pytest.approx(mean)
    logits = tw.tensor(logits, requires_grad=True)
    assert tw.autograd.gradcheck(lambda x: F.ctc_loss(x.log_softmax(2), flat, lengths, sizes, blank, "none"), [logits])


def test_the_gradient_is_that_of_the_logits():
    rng = np.random.default_rng(1)
    logits = tw.tensor(rng.normal(size=(4, 2, 3)), requires_grad=True)
    log_probs = logits.log_softmax(2).detach().requires_grad_()
    weights = tw.tensor([2.0, -3.0], dtype=tw.float64)
    arguments = (tw.tensor([[1, 2], [2, 0]]), [4, 3], [2, 1], 0, "none")
    direct = tw.autograd.grad(F.ctc_loss(log_probs, *arguments), log_probs, weights)[0]
    through = tw.autograd.grad(F.ctc_loss(logits.log_softmax(2), *arguments), logits, weights)[0]
    np.testing.assert_allclose(direct.numpy(), through.numpy(), atol=1e-12)
    assert (direct[3, 1] == 0).all()  # beyond the input's length


def test_impossible_targets():
    x = tw.log_softmax(tw.zeros(2, 1, 3), 2).requires_grad_()
    target = tw.tensor([[1, 1]])
    assert math.isinf(F.ctc_loss(x, target, [2], [2]))
    loss = F.ctc_loss(x, target, [2], [2], zero_infinity=True)
    loss.backward()
    assert loss == 0 and (x.grad == 0).all()


def test_errors():
    x = tw.zeros(4, 2, 3)
    with pytest.raises(IndexError, match="targets"):
        F.ctc_loss(x, tw.tensor([[1], [5]]), [4, 4], [1, 1])
    with pytest.raises(RuntimeError, match="input_lengths"):
        F.ctc_loss(x, tw.tensor([[1], [1]]), [5, 4], [1, 1])
