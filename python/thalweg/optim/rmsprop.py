"""RMSprop."""

from __future__ import annotations

import thalweg as tw
from thalweg._registry import ops
from thalweg.optim._common import as_number, check_modes, check_options, column
from thalweg.optim.optimizer import Optimizer

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """p -= lr · g / (sqrt(v) + eps), v the running mean of g² (Tieleman & Hinton, 2012).

    Args:
        params: see Optimizer.
        lr: the learning rate.
        alpha: the decay of v.
        eps: added to the root.
        weight_decay: the L2 penalty.
        momentum: step along the running sum b = momentum · b + g / (sqrt(v) + eps).
        centered: subtract the squared running mean of g from v (Graves, 2013).
        maximize: ascend.
        capturable, foreach: accepted.
    """

    def __init__(
        self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
        foreach=None, maximize=False, differentiable=False,
    ):  # fmt: skip
        check_options(self, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum)
        check_modes(self, foreach, None, differentiable)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        wanted = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return {"step": 0, **{name: tw.zeros_like(param) for name, on in wanted.items() if on}}

    def _update(self, group, params, grads, states):
        for state in states:
            state["step"] += 1
        ops.rmsprop_step(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "grad_avg") if group["centered"] else [],
            column(states, "momentum_buffer") if group["momentum"] > 0 else [],
            lr=as_number(group["lr"]),
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            maximize=group["maximize"],
        )
