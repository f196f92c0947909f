"""Adamax."""

from __future__ import annotations

import thalweg as tw
from thalweg.optim._common import (
    add_ratio_,
    as_number,
    ascending,
    check_betas,
    check_modes,
    check_options,
    column,
    next_steps,
    with_decay,
)
from thalweg.optim.optimizer import Optimizer

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """p -= lr · m̂ / u, u = max(beta2 · u, |g| + eps): Adam in the infinity norm (Kingma & Ba, 2014).

    Args: params, lr, betas, eps, weight_decay and maximize as for Adam; foreach, capturable: accepted.
    """

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
        differentiable=False, capturable=False,
    ):  # fmt: skip
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        check_modes(self, foreach, None, differentiable)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": 0, "exp_avg": tw.zeros_like(param), "exp_inf": tw.zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        _multi_tensor_adamax(
            params,
            ascending(group, grads),
            column(states, "exp_avg"),
            column(states, "exp_inf"),
            next_steps(states),
            lr=as_number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            eps=group["eps"],
            weight_decay=group["weight_decay"],
        )


def _multi_tensor_adamax(params, grads, exp_avgs, exp_infs, steps, *, lr, beta1, beta2, eps, weight_decay):
    for param, grad, mean, largest, step in zip(params, grads, exp_avgs, exp_infs, steps):
        grad = with_decay(grad, param, weight_decay, mean.dtype)
        mean.lerp_(grad, 1 - beta1)
        largest.copy_(tw.maximum(largest * beta2, grad.abs().add_(eps)))
        add_ratio_(param, mean, largest, -lr / (1 - beta1**step))
