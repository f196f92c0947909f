"""Three linear layers, 784-512-512-10, for digits."""

from typing import Any

import numpy as np

from bench.frameworks import Framework

BATCH = 64
FLOPS = 6 * BATCH * (784 * 512 + 512 * 512 + 512 * 10) - 2 * BATCH * 784 * 512  # the input needs no gradient


def build(fw: Framework) -> Any:
    """The module."""
    nn = fw.nn
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def batch(fw: Framework) -> tuple[Any, Any]:
    """Images and classes."""
    rng = np.random.default_rng(0)
    return fw.tensor(rng.random((BATCH, 784), dtype=np.float32)), fw.tensor(rng.integers(0, 10, BATCH))


def loss(fw: Framework, model: Any, x: Any, y: Any) -> Any:
    """Mean cross entropy."""
    return fw.F.cross_entropy(model(x), y)


def optimizer(fw: Framework, model: Any) -> Any:
    """Momentum SGD, all parameters in one kernel."""
    return fw.module.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
