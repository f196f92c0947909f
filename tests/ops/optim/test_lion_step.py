"""lion_step."""

import numpy as np
import pytest
import thalweg as tw
from multi_tensor import check_step, lists_of, place, split_dims, tensors_of
from thalweg._registry import ops

OPTIONS = {"lr": 0.1, "beta1": 0.9, "beta2": 0.8, "weight_decay": 0.0, "maximize": False}


@pytest.mark.parametrize("given", [{}, {"weight_decay": 0.1, "maximize": True}])
def test_lion(given):
    options = {**OPTIONS, **given}

    def rule(p, g, m):
        g = -g if options["maximize"] else g
        step = np.sign(0.9 * m + 0.1 * g) + options["weight_decay"] * p
        return p - 0.1 * step, 0.8 * m + 0.2 * g

    check_step(lambda lists: ops.lion_step(*lists, **options), rule, 1)


def test_no_direction_no_step():
    p, g, m = ([place(t)] for t in (tw.ones(1), tw.zeros(1), tw.zeros(1)))
    ops.lion_step(p, g, m, **OPTIONS)
    assert p[0].item() == 1


def test_signatures():
    lists = tensors_of(lists_of(1), tw.float32, tw.float32)
    assert split_dims(ops.lion_step.signatures(*lists, **OPTIONS)) == [{0}, {1}]
    with pytest.raises(ValueError, match="lion_step"):
        ops.lion_step(lists[0], lists[1], [], **OPTIONS)
