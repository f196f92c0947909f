"""Tensors for tests of CUDA, and the comparison with what the CPU makes of them."""

import numpy as np
import thalweg as tw

DTYPES = ["float32", "bfloat16", "float16"]
TOLERANCE = {"float32": 2e-5, "bfloat16": 3e-2, "float16": 4e-3}


def make(shape, dtype="float32", seed=0):
    return tw.tensor(np.random.default_rng(seed).uniform(-2, 2, shape)).to(getattr(tw, dtype))


def same(function, *tensors, tolerance=2e-5):
    """The function on the CPU and on CUDA, and the gradients of both."""

    def run(device):
        leaves = [t.detach().to(device) for t in tensors]
        for leaf in leaves:
            if leaf.dtype.is_floating_point:
                leaf.requires_grad_()
        result = function(*leaves)
        if result.requires_grad:
            result.backward(tw.ones_like(result))
        return [result, *[t.grad for t in leaves if t.grad is not None]]

    expected, got = run("cpu"), run("cuda")
    assert len(expected) == len(got)
    for e, g in zip(expected, got, strict=True):
        assert g.is_cuda and e.dtype == g.dtype and e.shape == g.shape
        e, g = e.detach().double().numpy(), g.detach().cpu().double().numpy()
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * max(1.0, np.abs(e).max(initial=0)))
