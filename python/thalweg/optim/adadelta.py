"""Adadelta."""

from __future__ import annotations

import thalweg as tw
from thalweg._registry import ops
from thalweg.optim._common import as_number, check_modes, check_options, column
from thalweg.optim.optimizer import Optimizer

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """p -= lr · d, d = sqrt(u + eps) / sqrt(v + eps) · g, v and u the running means of g² and d² (Zeiler, 2012).

    Args:
        params: see Optimizer.
        lr: a factor on the step.
        rho: the decay of both means.
        eps: added under both roots.
        weight_decay: the L2 penalty.
        maximize: ascend.
        foreach, capturable: accepted.
    """

    def __init__(
        self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
        differentiable=False,
    ):  # fmt: skip
        check_options(self, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)
        check_modes(self, foreach, None, differentiable)
        if rho > 1:
            raise ValueError(f"Adadelta: rho in [0, 1] is wanted, got {rho}")
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": 0, "square_avg": tw.zeros_like(param), "acc_delta": tw.zeros_like(param)}

    def _update(self, group, params, grads, states):
        for state in states:
            state["step"] += 1
        ops.adadelta_step(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "acc_delta"),
            lr=as_number(group["lr"]),
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
