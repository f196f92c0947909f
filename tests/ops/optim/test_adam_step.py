"""adam_step: L2 penalty and decoupled decay, the largest second moment, a step number for each tensor."""

import numpy as np
import pytest
import thalweg as tw
from multi_tensor import check_step, lists_of, place, split_dims, tensors_of
from thalweg._registry import ops

OPTIONS = {
    "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3, "weight_decay": 0.0, "decoupled": False, "maximize": False,
}  # fmt: skip
STEPS = [1, 2, 3, 40, 5000]


def rule(p, g, m, v, largest, step, *, lr, beta1, beta2, eps, weight_decay, decoupled, maximize):
    g = -g if maximize else g
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    largest = v if largest is None else np.maximum(largest, v)
    return p - lr * (m / (1 - beta1**step)) / (np.sqrt(largest / (1 - beta2**step)) + eps), m, v, largest


GIVEN = [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled": True}, {"maximize": True}]


@pytest.mark.parametrize("given", GIVEN)
def test_adam(given):
    options = {**OPTIONS, **given}

    def call(lists):
        ops.adam_step(*lists, [], STEPS * (len(lists[0]) // 5), **options)

    check_step(call, lambda p, g, m, v, step: rule(p, g, m, v, None, step, **options)[:3], 2, lambda i: (STEPS[i],))


@pytest.mark.parametrize("given", GIVEN)
def test_amsgrad(given):
    options = {**OPTIONS, **given}

    def call(lists):
        ops.adam_step(*lists, STEPS * (len(lists[0]) // 5), **options)

    check_step(call, lambda *args: rule(*args, **options), 3, lambda i: (STEPS[i],))


def test_signatures():
    lists = tensors_of(lists_of(2), tw.float32, tw.float32)
    assert split_dims(ops.adam_step.signatures(*lists, [], STEPS, **OPTIONS)) == [{0}, {1}]


def test_an_infinite_parameter_is_not_touched_by_a_penalty_of_zero():
    p, g, m, v = ([place(t)] for t in (tw.tensor([np.inf]), tw.zeros(1), tw.zeros(1), tw.ones(1)))
    ops.adam_step(p, g, m, v, [], [1], **OPTIONS)
    assert m[0].item() == 0 and p[0].item() == np.inf


def test_refusals():
    p, g, m, v = ([tw.zeros(2)] for _ in range(4))
    with pytest.raises(ValueError, match="adam_step"):
        ops.adam_step(p, g, m, [], [], [1], **OPTIONS)
    with pytest.raises(ValueError, match="adam_step"):
        ops.adam_step(p, g, m, v, [], [1, 2], **OPTIONS)
