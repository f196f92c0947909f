"""sgd_step: with and without momentum, nesterov, dampening, weight decay, ascent; the lists it refuses."""

import pytest
import thalweg as tw
from multi_tensor import check_step, lists_of, split_dims, tensors_of
from thalweg._registry import ops

OPTIONS = {"lr": 0.1, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False}
FRESH = [0, 1, 0, 1, 0]


def rule(p, g, *rest, fresh=0, lr, momentum, dampening, weight_decay, nesterov, maximize):
    g = (-g if maximize else g) + weight_decay * p
    if not momentum:
        return (p - lr * g,)
    v = g if fresh else momentum * rest[0] + (1 - dampening) * g
    return p - lr * (g + momentum * v if nesterov else v), v


@pytest.mark.parametrize("given", [{}, {"weight_decay": 0.1}, {"maximize": True}])
def test_plain(given):
    options = {**OPTIONS, **given}
    check_step(lambda lists: ops.sgd_step(*lists, [], [], **options), lambda p, g: rule(p, g, **options), 0)


@pytest.mark.parametrize("given", [{"dampening": 0.2}, {"nesterov": True, "weight_decay": 0.1}, {"maximize": True}])
def test_momentum(given):
    options = {**OPTIONS, "momentum": 0.9, **given}

    def call(lists):
        ops.sgd_step(*lists, FRESH * (len(lists[0]) // 5), **options)

    check_step(call, lambda p, g, v, fresh: rule(p, g, v, fresh=fresh, **options), 1, take=lambda i: (FRESH[i],))


def test_signatures():
    lists = tensors_of(lists_of(1), tw.float32, tw.float32)
    options = {**OPTIONS, "momentum": 0.9}
    assert split_dims(ops.sgd_step.signatures(*lists, FRESH, **options)) == [{0}, {1}]


def test_refusals():
    p, g = [tw.zeros(2), tw.zeros(3)], [tw.zeros(2), tw.zeros(3)]
    for lists, error in (
        ((p, g[:1], []), ValueError),  # a gradient is missing
        ((p, g[::-1], []), ValueError),  # shapes differ
        ((p, [tw.zeros(2, dtype=tw.int64), g[1]], []), TypeError),
        ((p, g, g), ValueError),  # buffers without momentum
    ):
        with pytest.raises(error, match="sgd_step"):
            ops.sgd_step(*lists, [], **OPTIONS)
    with pytest.raises(RuntimeError, match="no_grad"):
        ops.sgd_step([p[0].requires_grad_()], g[:1], [], [], **OPTIONS)
    ops.sgd_step([], [], [], [], **OPTIONS)
