"""adagrad_step, rmsprop_step (centred, with momentum), adadelta_step."""

import numpy as np
import pytest
import thalweg as tw
from multi_tensor import check_step, lists_of, split_dims, tensors_of
from thalweg._registry import ops

STEPS = [1, 2, 3, 40, 500]
PENALTIES = [{"weight_decay": 0.0, "maximize": False}, {"weight_decay": 0.1, "maximize": True}]


def gradient(p, g, weight_decay, maximize):
    return (-g if maximize else g) + weight_decay * p


@pytest.mark.parametrize("penalty", PENALTIES)
def test_adagrad(penalty):
    def call(lists):
        ops.adagrad_step(*lists, STEPS * (len(lists[0]) // 5), lr=0.1, lr_decay=0.3, eps=1e-3, **penalty)

    def rule(p, g, total, step):
        g = gradient(p, g, **penalty)
        total = total + g * g
        return p - 0.1 / (1 + (step - 1) * 0.3) * g / (np.sqrt(total) + 1e-3), total

    check_step(call, rule, 1, lambda i: (STEPS[i],))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_rmsprop(centred, momentum, penalty):
    options = {"lr": 0.1, "alpha": 0.9, "eps": 1.0, "momentum": momentum, **penalty}

    def call(lists):
        params, grads, square, *rest = lists
        mean = rest.pop(0) if centred else []
        ops.rmsprop_step(params, grads, square, mean, rest.pop(0) if momentum else [], **options)

    def rule(p, g, v, *rest):
        rest = list(rest)
        g = gradient(p, g, **penalty)
        # A mean larger than the root of the mean square has no variance: keep the samples sound.
        v = 0.9 * v + 0.1 * g * g
        mean = [0.9 * rest.pop(0) + 0.1 * g] if centred else []
        with np.errstate(invalid="ignore"):
            d = g / (np.sqrt(v - mean[0] ** 2 if centred else v) + 1.0)
        buffer = [momentum * rest.pop(0) + d] if momentum else []
        return p - 0.1 * (buffer[0] if momentum else d), v, *mean, *buffer

    if centred:
        plain = call

        def call(lists):
            for square, mean in zip(lists[2], lists[3]):
                mean.mul_(0.1)
                square.add_(2.0)
            plain(lists)

        bare = rule

        def rule(p, g, v, mean, *rest):
            return bare(p, g, v + 2.0, mean * 0.1, *rest)

    check_step(call, rule, 1 + centred + (momentum > 0))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_adadelta(penalty):
    def rule(p, g, v, u):
        g = gradient(p, g, **penalty)
        v = 0.9 * v + 0.1 * g * g
        d = np.sqrt(u + 1e-3) / np.sqrt(v + 1e-3) * g
        return p - 0.5 * d, v, 0.9 * u + 0.1 * d * d

    check_step(lambda lists: ops.adadelta_step(*lists, lr=0.5, rho=0.9, eps=1e-3, **penalty), rule, 2)


def test_signatures():
    p, g, u, v = tensors_of(lists_of(2), tw.float32, tw.float32)
    options = {"lr": 0.1, "eps": 1e-3, **PENALTIES[0]}
    for signatures in (
        ops.adagrad_step.signatures(p, g, u, STEPS, lr_decay=0.0, **options),
        ops.rmsprop_step.signatures(p, g, u, [], [], alpha=0.9, momentum=0.0, **options),
        ops.adadelta_step.signatures(p, g, u, v, rho=0.9, **options),
    ):
        assert split_dims(signatures) == [{0}, {1}]


def test_refusals():
    p, g = [tw.zeros(2)], [tw.zeros(2)]
    options = {"lr": 0.1, "eps": 1e-3, **PENALTIES[0]}
    with pytest.raises(ValueError, match="adagrad_step"):
        ops.adagrad_step(p, g, [], [1], lr_decay=0.0, **options)
    with pytest.raises(ValueError, match="rmsprop_step"):
        ops.rmsprop_step(p, g, [], [], [], alpha=0.9, momentum=0.0, **options)
    with pytest.raises(ValueError, match="adadelta_step"):
        ops.adadelta_step(p, g, [tw.zeros(2)], [tw.zeros(3)], rho=0.9, **options)
