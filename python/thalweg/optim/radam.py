"""RAdam."""

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

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """Adam that steps along the mean alone until the variance of its adaptive rate is bounded, and rectified after.

    Args: params, lr, betas, eps, weight_decay, decoupled_weight_decay and maximize as for Adam; foreach, capturable:
    accepted. Source: Liu et al., 2019.
    """

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
        foreach=None, maximize=False, capturable=False, differentiable=False,
    ):  # fmt: skip
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        check_modes(self, foreach, None, differentiable)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": 0, "exp_avg": tw.zeros_like(param), "exp_avg_sq": tw.zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        _multi_tensor_radam(
            params,
            ascending(group, grads),
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            next_steps(states),
            lr=as_number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            decoupled=group["decoupled_weight_decay"],
        )


def _rectification(step, beta2):
    """The factor r_t, or None while the length of the approximated moving average is at most 5."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5:
        return None
    return ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5


def _multi_tensor_radam(params, grads, exp_avgs, exp_avg_sqs, steps, *, lr, beta1, beta2, eps, weight_decay, decoupled):
    for param, grad, mean, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, steps):
        if decoupled and weight_decay:
            param.mul_(1 - lr * weight_decay)
        grad = with_decay(grad, param, 0 if decoupled else weight_decay, mean.dtype)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        rate = -lr / (1 - beta1**step)
        rectification = _rectification(step, beta2)
        if rectification is None:
            param.add_(mean, alpha=rate)
        else:
            add_ratio_(param, mean, square.sqrt().add_(eps), rate * rectification * (1 - beta2**step) ** 0.5)
