"""Averaged stochastic gradient descent."""

from __future__ import annotations

import thalweg as tw
from thalweg.optim._common import as_number, ascending, check_modes, check_options, column, next_steps, with_decay
from thalweg.optim.optimizer import Optimizer

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """SGD with rate lr / (1 + lambd · lr · t)^alpha, which keeps the average of p after step t0 as state "ax".

    Args:
        params: see Optimizer.
        lr, lambd, alpha, t0: see above; lambd is a decay of the parameter too.
        weight_decay: the L2 penalty.
        maximize: ascend.
        foreach, capturable: accepted.

    Source: Polyak & Juditsky, 1992.
    """

    def __init__(
        self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
        differentiable=False, capturable=False,
    ):  # fmt: skip
        check_options(self, lr=lr, weight_decay=weight_decay)
        check_modes(self, foreach, None, differentiable)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": 0, "eta": as_number(group["lr"]), "mu": 1.0, "ax": tw.zeros_like(param)}

    def _update(self, group, params, grads, states):
        lr, lambd = as_number(group["lr"]), group["lambd"]
        etas, mus = column(states, "eta"), column(states, "mu")
        _multi_tensor_asgd(
            params,
            ascending(group, grads),
            column(states, "ax"),
            [as_number(eta) for eta in etas],
            [as_number(mu) for mu in mus],
            lambd=lambd,
            weight_decay=group["weight_decay"],
        )
        for state, step in zip(states, next_steps(states)):
            state["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
            state["mu"] = 1 / max(1, step - group["t0"])


def _multi_tensor_asgd(params, grads, averages, etas, mus, *, lambd, weight_decay):
    for param, grad, average, eta, mu in zip(params, grads, averages, etas, mus):
        grad = with_decay(grad, param, weight_decay, average.dtype)
        param.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
        if mu == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average), alpha=mu)
