import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

F = tw.nn.functional


def nll_loss(x, target, weight=None, ignore_index=-100, reduction="mean"):
    dim = 1 if x.ndim > 1 else 0
    rows = np.moveaxis(x, dim, -1).reshape(-1, x.shape[dim])
    w = np.ones(x.shape[dim]) if weight is None else weight
    flat = target.reshape(-1)
    weights = np.array([w[t] if t != ignore_index else 0.0 for t in flat])
    losses = -weights * np.array([row[t] if t != ignore_index else 0.0 for row, t in zip(rows, flat, strict=True)])
    if reduction == "none":
        return losses.reshape(target.shape)
    return losses.sum() / (weights.sum() if reduction == "mean" else 1)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_loss(reduction):
    samples = [
        Sample((array((4, 3)), np.array([0, 2, -100, 1])), {"reduction": reduction}),
        Sample((array((3,)), np.array(1)), {"reduction": reduction}),
        Sample((array((2, 3, 2)), np.array([[0, 2], [1, 1]])), {"reduction": reduction, "ignore_index": 2}),
    ]
    check(F.nll_loss, nll_loss, samples)
    weight = np.array([0.5, 1.0, 2.0])
    got = F.nll_loss(
        tw.tensor(samples[0].args[0]), tw.tensor(samples[0].args[1]), tw.tensor(weight), reduction=reduction
    )
    np.testing.assert_allclose(got.numpy(), nll_loss(*samples[0].args, weight, reduction=reduction))


def test_shapes():
    with pytest.raises(ValueError, match="target must have the shape"):
        F.nll_loss(tw.ones(4, 3), tw.zeros(3, dtype=tw.int64))
