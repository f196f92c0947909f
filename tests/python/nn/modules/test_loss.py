"""Losses against their formulas in NumPy, with reductions and options."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5))
P = RNG.uniform(0.1, 0.9, size=(4, 5))
SIGN = np.where(RNG.uniform(size=4) > 0.5, 1.0, -1.0)
SIGNS = np.where(RNG.uniform(size=(4, 5)) > 0.5, 1.0, -1.0)
CLASS = np.array([0, 3, 4, 1])
D = np.abs(X - Y)


def log_softmax(x):
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rows_cosine(a, b):
    return (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def distance(a, b):
    return np.linalg.norm(a - b + 1e-6, axis=1)


COS = rows_cosine(X, Y)
PICKED = X[np.arange(4), CLASS][:, None]
OTHERS = np.arange(5) != CLASS[:, None]

# name, options, inputs, the loss without reduction
CASES = [
    ("L1Loss", {}, (X, Y), D),
    ("MSELoss", {}, (X, Y), D**2),
    ("SmoothL1Loss", {"beta": 0.5}, (X, Y), np.where(D < 0.5, D**2, D - 0.25)),
    ("HuberLoss", {"delta": 0.5}, (X, Y), np.where(D < 0.5, D**2 / 2, 0.5 * (D - 0.25))),
    ("NLLLoss", {}, (X, CLASS), -PICKED[:, 0]),
    ("CrossEntropyLoss", {}, (X, CLASS), -log_softmax(X)[np.arange(4), CLASS]),
    ("CrossEntropyLoss", {}, (X, P), -(P * log_softmax(X)).sum(1)),
    ("CrossEntropyLoss", {"label_smoothing": 0.1}, (X, CLASS),
     -0.9 * log_softmax(X)[np.arange(4), CLASS] - 0.1 * log_softmax(X).mean(1)),
    ("BCELoss", {}, (P, 1 - P), -((1 - P) * np.log(P) + P * np.log(1 - P))),
    ("BCEWithLogitsLoss", {}, (X, P), -(P * np.log(sigmoid(X)) + (1 - P) * np.log(sigmoid(-X)))),
    ("KLDivLoss", {}, (X, P), P * (np.log(P) - X)),
    ("KLDivLoss", {"log_target": True}, (X, Y), np.exp(Y) * (Y - X)),
    ("PoissonNLLLoss", {}, (X, P), np.exp(X) - P * X),
    ("PoissonNLLLoss", {"log_input": False, "eps": 0.1}, (P, P), P - P * np.log(P + 0.1)),
    ("GaussianNLLLoss", {}, (X, Y, P), (np.log(P) + D**2 / P) / 2),
    ("GaussianNLLLoss", {"full": True}, (X, Y, P), (np.log(P) + D**2 / P + math.log(2 * math.pi)) / 2),
    ("HingeEmbeddingLoss", {"margin": 0.5}, (X, SIGNS), np.where(SIGNS == 1, X, np.maximum(0, 0.5 - X))),
    ("MarginRankingLoss", {"margin": 0.5}, (X, Y, SIGNS), np.maximum(0, -SIGNS * (X - Y) + 0.5)),
    ("CosineEmbeddingLoss", {"margin": 0.1}, (X, Y, SIGN), np.where(SIGN == 1, 1 - COS, np.maximum(0, COS - 0.1))),
    ("SoftMarginLoss", {}, (X, SIGNS), np.log1p(np.exp(-SIGNS * X))),
    ("MultiMarginLoss", {"p": 2, "margin": 0.8}, (X, CLASS),
     (OTHERS * np.maximum(0, 0.8 - PICKED + X) ** 2).sum(1) / 5),
    ("MultiLabelSoftMarginLoss", {}, (X, P),
     -(P * np.log(sigmoid(X)) + (1 - P) * np.log(sigmoid(-X))).mean(1)),
    ("TripletMarginLoss", {"margin": 0.7}, (X, Y, P), np.maximum(0, distance(X, Y) - distance(X, P) + 0.7)),
    ("TripletMarginLoss", {"swap": True}, (X, Y, P),
     np.maximum(0, distance(X, Y) - np.minimum(distance(X, P), distance(Y, P)) + 1)),
    ("TripletMarginWithDistanceLoss", {"margin": 0.7}, (X, Y, P),
     np.maximum(0, distance(X, Y) - distance(X, P) + 0.7)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "inputs", "expected"), CASES, ids=[f"{c[0]}{c[1]}" for c in CASES])
def test_formula(name, options, inputs, expected):
    inputs = [tw.tensor(x) for x in inputs]
    mean = expected.mean()
    for reduction, value in (("none", expected), ("sum", expected.sum()), ("mean", mean)):
        loss = getattr(nn, name)(**options, reduction=reduction)(*inputs)
        np.testing.assert_allclose(loss.numpy(), value, rtol=1e-6, atol=1e-10)


def test_class_weights_and_ignored_targets():
    weight = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    target = tw.tensor([0, 3, -1, 1])
    picked = -log_softmax(X)[[0, 1, 3], [0, 3, 1]]
    loss = nn.CrossEntropyLoss(weight=tw.tensor(weight), ignore_index=-1)
    assert loss(tw.tensor(X), target).item() == pytest.approx((picked * weight[[0, 3, 1]]).sum() / 7.0)
    assert list(loss.state_dict()) == ["weight"]
    assert loss.to(tw.float32).weight.dtype == tw.float32


def test_pos_weight():
    loss = nn.BCEWithLogitsLoss(pos_weight=tw.full((5,), 3.0, dtype=tw.float64))
    expected = -(3 * P * np.log(sigmoid(X)) + (1 - P) * np.log(sigmoid(-X))).mean()
    assert loss(tw.tensor(X), tw.tensor(P)).item() == pytest.approx(expected)


def test_batchmean():
    loss = nn.KLDivLoss(reduction="batchmean")(tw.tensor(X), tw.tensor(P))
    assert loss.item() == pytest.approx((P * (np.log(P) - X)).sum() / 4)


def test_multi_label_margin():
    x, target = tw.tensor([[0.1, 0.2, 0.4, 0.8]]), tw.tensor([[3, 0, -1, 1]])
    pairs = [max(0, 1 - (t - o)) for t in (0.8, 0.1) for o in (0.2, 0.4)]
    assert nn.MultiLabelMarginLoss()(x, target).item() == pytest.approx(sum(pairs) / 4)


def test_ctc_by_listing_every_alignment():
    # Two steps, one label: the paths are (blank, 1), (1, blank) and (1, 1).
    p = np.array([[0.6, 0.4], [0.3, 0.7]])
    expected = -math.log(0.6 * 0.7 + 0.4 * 0.3 + 0.4 * 0.7)
    loss = nn.CTCLoss(reduction="sum")
    got = loss(tw.tensor(np.log(p))[:, None, :], tw.tensor([[1]]), tw.tensor([2]), tw.tensor([1]))
    assert got.item() == pytest.approx(expected)


def test_a_distance_of_ones_own():
    loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0)
    assert loss(tw.zeros(1, 2), tw.ones(1, 2), tw.full((1, 2), 3.0)).item() == 0
    assert loss(tw.zeros(1, 2), tw.ones(1, 2), tw.ones(1, 2)).item() == 2


@pytest.mark.parametrize(
    ("old", "reduction"),
    [({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"size_average": True}, "mean")],
)
def test_the_older_names_of_reduction(old, reduction):
    assert nn.MSELoss(**old).reduction == reduction


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.MultiMarginLoss(p=3), ValueError),
        (lambda: nn.TripletMarginLoss(margin=0), ValueError),
        (lambda: nn.TripletMarginWithDistanceLoss(margin=-1), ValueError),
        (lambda: nn.HuberLoss(delta="x"), TypeError),
        (lambda: nn.MSELoss(reduction="other")(tw.ones(1), tw.ones(1)), ValueError),
    ],
)
def test_errors(make, error):
    with pytest.raises(error):
        make()
