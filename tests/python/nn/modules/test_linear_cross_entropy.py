"""LinearCrossEntropyLoss is Linear, then CrossEntropyLoss."""

import pytest
import thalweg as tw
from thalweg import nn


@pytest.mark.parametrize("out_features", [(), (2, 3)])
@pytest.mark.parametrize("bias", [False, True])
def test_same_as_the_two_modules(out_features, bias):
    loss = nn.LinearCrossEntropyLoss(5, 4, out_features=out_features, bias=bias, label_smoothing=0.1, ignore_index=1)
    x, target = tw.randn(6, 5), tw.randint(0, 4, (6, *out_features))
    logits = loss.linear(x).reshape(6, 4, *out_features)
    expected = nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=1)(logits, target)
    assert loss(x, target).item() == pytest.approx(expected.item(), rel=1e-6)
    assert list(loss.state_dict()) == ["linear.weight", "linear.bias"][: 1 + bias]


def test_one_sample():
    loss = nn.LinearCrossEntropyLoss(3, 4, reduction="none")
    assert loss(tw.ones(3), tw.tensor(2)).dim() == 0
