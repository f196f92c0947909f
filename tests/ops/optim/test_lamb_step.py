"""lamb_step: the ratio of norms, and 1 where one is zero."""

import numpy as np
import pytest
import thalweg as tw
from multi_tensor import check_step, lists_of, place, tensors_of, values
from thalweg._registry import ops

OPTIONS = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3, "weight_decay": 0.0, "maximize": False}
STEPS = [1, 2, 3, 40, 500]


def rule(p, g, m, v, step, *, lr, beta1, beta2, eps, weight_decay, maximize):
    g = -g if maximize else g
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    u = m / (1 - beta1**step) / (np.sqrt(v / (1 - beta2**step)) + eps) + weight_decay * p
    sizes = np.linalg.norm(p), np.linalg.norm(u)
    return p - lr * (sizes[0] / sizes[1] if min(sizes) > 0 else 1) * u, m, v


@pytest.mark.parametrize("given", [{}, {"weight_decay": 0.1, "maximize": True}])
def test_lamb(given):
    options = {**OPTIONS, **given}

    def call(lists):
        ops.lamb_step(*lists, STEPS * (len(lists[0]) // 5), **options)

    check_step(call, lambda *args: rule(*args, **options), 2, lambda i: (STEPS[i],), shards=False)


def test_a_zero_parameter_moves_by_lr():
    p, g, m, v = ([place(t)] for t in (tw.zeros(3), tw.ones(3), tw.zeros(3), tw.zeros(3)))
    ops.lamb_step(p, g, m, v, [1], **OPTIONS)
    np.testing.assert_allclose(values(p[0]), -0.1, rtol=2e-3)


def test_norms_are_of_whole_tensors():
    lists = tensors_of(lists_of(2), tw.float32, tw.float32)
    assert ops.lamb_step.signatures(*lists, STEPS, **OPTIONS) == []
    with pytest.raises(ValueError, match="lamb_step"):
        ops.lamb_step(*lists, STEPS[1:], **OPTIONS)
