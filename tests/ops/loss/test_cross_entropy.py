import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

F = tw.nn.functional


def log_softmax(x, dim):
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    dim = 1 if x.ndim > 1 else 0
    logs = np.moveaxis(log_softmax(x, dim), dim, -1).reshape(-1, x.shape[dim])
    w = np.ones(x.shape[dim]) if weight is None else weight
    losses, kept = [], []
    for row, t in zip(logs, target.reshape(-1), strict=True):
        use = t != ignore_index
        smooth = -(w * row).sum() * label_smoothing / len(row)
        losses.append(smooth - (1 - label_smoothing) * w[t] * row[t] if use else 0.0)
        kept.append(w[t] if use else 0.0)
    if reduction == "none":
        return np.array(losses).reshape(target.shape)
    return np.sum(losses) / (np.sum(kept) if reduction == "mean" else 1)


TARGET = np.array([1, 0, 2, -100, 2])
WEIGHT = np.array([0.5, 2.0, 1.5])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_indices(reduction):
    samples = [
        Sample((array((5, 3)), TARGET), {"reduction": reduction}),
        Sample((array((5, 3)), TARGET), {"reduction": reduction, "label_smoothing": 0.2}),
        Sample((array((2, 4, 3)), np.array([[0, 3, 1], [2, 1, 1]])), {"reduction": reduction, "ignore_index": 1}),
        Sample((array((3,)), np.array(2)), {"reduction": reduction}),
    ]
    check(F.cross_entropy, cross_entropy, samples)

    def weighted(x, target, **kwargs):
        return F.cross_entropy(x, target, x.new_tensor(WEIGHT), reduction=reduction, **kwargs)

    samples = [Sample((array((5, 3)), TARGET), {"label_smoothing": s}) for s in (0.0, 0.3)]
    check(
        weighted, lambda x, t, label_smoothing: cross_entropy(x, t, WEIGHT, -100, reduction, label_smoothing), samples
    )


def test_registered_signatures():
    op = tw._registry.ops.cross_entropy_index
    for reduction in ("none", "sum"):
        check(op, lambda x, t, *a: cross_entropy(x, t, *a), [Sample((array((5, 3)), TARGET, None, -100, reduction))])


def test_probabilities():
    p = np.exp(log_softmax(array((4, 3), seed=1), 1))

    def reference(x, target, label_smoothing=0.0, reduction="mean"):
        target = target * (1 - label_smoothing) + label_smoothing / 3
        losses = -(target * log_softmax(x, 1)).sum(1)
        return losses if reduction == "none" else losses.mean()

    samples = [Sample((array((4, 3)), p)), Sample((array((4, 3)), p), {"label_smoothing": 0.1, "reduction": "none"})]
    check(F.cross_entropy, reference, samples)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_ignored_rows_and_smoothing(reduction):
    x = tw.tensor(array((10, 4)), requires_grad=True)
    target = tw.tensor([0, 1, -100, 2, 3, -100, 0, -100, 1, 2])
    kept = target != -100
    loss = F.cross_entropy(x, target, reduction=reduction, label_smoothing=0.2)
    alone = F.cross_entropy(x[kept], target[kept], reduction=reduction, label_smoothing=0.2)
    assert loss.item() == pytest.approx(alone.item(), rel=1e-12)
    loss.backward()
    assert (x.grad[~kept] == 0).all() and (x.grad[kept] != 0).all()


def test_weight_smoothing_and_negative_ignore_index():
    x = tw.tensor(array((10, 2)))
    target = tw.tensor([0, -1, 0, 0, -1, 0, -1, 0, 0, 0])
    weight = tw.tensor([1.0, 16.0], dtype=tw.float64)
    kept = target != -1
    loss = F.cross_entropy(x, target, weight, ignore_index=-1, label_smoothing=0.1)
    alone = F.cross_entropy(x[kept], target[kept], weight, label_smoothing=0.1)
    assert loss.item() == pytest.approx(alone.item(), rel=1e-12)


@pytest.mark.parametrize("bad", [-4, 7])
def test_targets_out_of_range(bad):
    x = tw.tensor(array((3, 5)), requires_grad=True)
    for loss in (F.cross_entropy, F.nll_loss):
        with pytest.raises(IndexError, match=str(bad)):
            loss(x, tw.tensor([0, 1, bad]), ignore_index=-1)
    losses = F.cross_entropy(x, tw.tensor([0, 1, -1]), ignore_index=-1, reduction="none")
    losses.sum().backward()
    assert losses[2] == 0 and (x.grad[2] == 0).all()
