"""A sample of ops in every SBP signature that they offer, each part on another CUDA device, forward and backward."""

import numpy as np
import pytest
import thalweg as tw
from on_device import CallThere
from sharded import Call, check_offered
from thalweg._registry import ops


def x(*shape, seed=0):
    return tw.tensor(np.random.default_rng([seed, *shape]).uniform(-2, 2, shape))


INDEX = tw.tensor([[0, 3, 1], [2, 0, 3]])
SAMPLES = {
    "add": (tw.add, [x(4, 6), x(4, 6, seed=1)]),
    "mul broadcast": (tw.mul, [x(4, 6), x(6)]),
    "exp": (tw.exp, [x(4, 6)]),
    "neg": (tw.neg, [x(4, 6)]),
    "where": (ops.where, [x(4, 6) > 0, x(4, 6), x(4, 6, seed=1)]),
    "mm": (tw.mm, [x(4, 6), x(6, 3)]),
    "bmm": (tw.bmm, [x(2, 4, 6), x(2, 6, 3)]),
    "sum": (tw.sum, [x(4, 6), [0]]),
    "amax": (tw.amax, [x(4, 6), [1]]),
    "mean": (tw.mean, [x(4, 6), [1]]),
    "softmax": (ops.softmax, [x(4, 6), 1]),
    "layer_norm": (ops.layer_norm, [x(4, 6), [6]]),
    "gelu": (ops.gelu, [x(4, 6)]),
    "reshape": (ops.reshape, [x(4, 6), [4, 3, 2]]),
    "permute": (ops.permute, [x(4, 6), [1, 0]]),
    "cat": (tw.cat, [[x(4, 6), x(2, 6)]]),
    "cumsum": (tw.cumsum, [x(4, 6), 0]),
    "tril": (ops.tril, [x(4, 6)]),
    "index_gather": (ops.index_gather, [x(4, 6), [INDEX]]),
    "cast": (ops.cast, [x(4, 6), tw.float32]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_signatures(name):
    op, args = SAMPLES[name]
    call, on_cpu = CallThere(op, args, {}), Call(op, args, {})
    assert call.signatures
    for found, expected in zip(call.outputs, on_cpu.outputs, strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    check_offered(call, True)
