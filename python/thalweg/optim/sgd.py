"""Stochastic gradient descent."""

from __future__ import annotations

import thalweg as tw
from thalweg._registry import ops
from thalweg.optim._common import as_number, check_modes, check_options
from thalweg.optim.optimizer import Optimizer

__all__ = ["SGD"]


class SGD(Optimizer):
    """p -= lr · v, with v = momentum · v + (1 - dampening) · g, g = gradient + weight_decay · p.

    Args:
        params: see Optimizer.
        lr: the learning rate.
        momentum, dampening: without momentum v is g; the first v is g.
        weight_decay: the L2 penalty.
        nesterov: step along g + momentum · v (Sutskever et al., 2013); needs momentum and no dampening.
        maximize: ascend.
        foreach, fused: accepted.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.zeros(1))
    >>> optimizer = tw.optim.SGD([weight], lr=1.0, momentum=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     weight.sum().backward()
    ...     optimizer.step()
    >>> weight.item()
    -2.5
    """

    def __init__(
        self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
        differentiable=False, fused=None,
    ):  # fmt: skip
        check_options(self, lr=lr, momentum=momentum, weight_decay=weight_decay)
        check_modes(self, foreach, fused, differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(f"SGD: nesterov wants momentum and no dampening, got {momentum} and {dampening}")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"momentum_buffer": None} if group["momentum"] else {}

    def _update(self, group, params, grads, states):
        buffers, fresh = [], []
        if group["momentum"]:
            for state, param in zip(states, params):
                buffer = state.get("momentum_buffer")
                fresh.append(int(buffer is None))
                if buffer is None:
                    buffer = state["momentum_buffer"] = tw.zeros_like(param)
                buffers.append(buffer)
        ops.sgd_step(
            params,
            grads,
            buffers,
            fresh,
            lr=as_number(group["lr"]),
            momentum=group["momentum"],
            dampening=group["dampening"],
            weight_decay=as_number(group["weight_decay"]),
            nesterov=group["nesterov"],
            maximize=group["maximize"],
        )
