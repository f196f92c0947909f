"""Functions of two matrices, to be called on global tensors."""

import numpy as np
import thalweg as tw
from thalweg.nn import functional as F


def pair():
    rng = np.random.default_rng(0)
    return [tw.tensor(rng.uniform(-1, 1, (6, 8)).astype("float32")) for _ in range(2)]


FUNCTIONS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b * 2,
    "number": lambda a, b: 1 - a / 3,
    "matmul": lambda a, b: a @ b.t(),
    "gelu": lambda a, b: F.gelu(a),
    "softmax": lambda a, b: (a + b).softmax(-1),
    "softmax dim 0": lambda a, b: (a * b).softmax(0),
    "layer_norm": lambda a, b: F.layer_norm(a, (8,)),
    "sum": lambda a, b: (a * b).sum(),
    "mean dim": lambda a, b: a.mean(0) + b.mean(1, keepdim=True),
    "max": lambda a, b: a.amax(1) * b.amax(0).sum(),
    "norm": lambda a, b: a.norm(),
    "heads": lambda a, b: a.reshape(6, 4, 2).transpose(0, 1).reshape(4, 12),
    "cat": lambda a, b: tw.cat([a, b], 0),
    "stack": lambda a, b: tw.stack([a, b], 1),
    "where": lambda a, b: tw.where(a > 0, a, b),
    "slice": lambda a, b: a[1:4, ::2] - b[2:5, :4],
    "select": lambda a, b: a[-1] * b[:, 0].sum(),
    "clamp": lambda a, b: a.clamp(-0.5, 0.5),
    "cumsum": lambda a, b: a.cumsum(0),
    "var": lambda a, b: a.var(),
    "chunk": lambda a, b: a.chunk(3, 0)[1] + b.chunk(3, 0)[2],
    "expand": lambda a, b: a[:1].expand(6, 8) * b,
    "einsum": lambda a, b: tw.einsum("ij,kj->ik", a, b),
    "logsumexp": lambda a, b: a.logsumexp(1),
    "outer": lambda a, b: tw.outer(a[0], b[:, 0]),
}
