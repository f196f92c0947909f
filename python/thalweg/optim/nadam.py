"""NAdam."""

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

__all__ = ["NAdam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum (Dozat, 2016): beta1 at step t is beta1 (1 - 0.96^(t · momentum_decay) / 2).

    Args: params, lr, betas, eps, weight_decay, decoupled_weight_decay and maximize as for Adam; momentum_decay: see
    above; foreach, capturable: accepted.
    """

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
        decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False,
    ):  # fmt: skip
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_betas(self, betas)
        check_modes(self, foreach, None, differentiable)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": 0, "mu_product": 1.0, "exp_avg": tw.zeros_like(param), "exp_avg_sq": tw.zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        steps = next_steps(states)

        def momentum(step):
            return beta1 * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))

        factors = []
        for state, step in zip(states, steps):
            mu, mu_next = momentum(step), momentum(step + 1)
            state["mu_product"] = as_number(state["mu_product"]) * mu
            product = state["mu_product"]
            factors.append(((1 - mu) / (1 - product), mu_next / (1 - product * mu_next)))
        _multi_tensor_nadam(
            params,
            ascending(group, grads),
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            factors,
            steps,
            lr=as_number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            decoupled=group["decoupled_weight_decay"],
        )


def _multi_tensor_nadam(
    params, grads, exp_avgs, exp_avg_sqs, factors, steps, *, lr, beta1, beta2, eps, weight_decay, decoupled
):
    """`factors` holds, per tensor, the weights of the gradient and of its mean in the step."""
    for param, grad, mean, square, factor, step in zip(params, grads, exp_avgs, exp_avg_sqs, factors, steps):
        if decoupled and weight_decay:
            param.mul_(1 - lr * weight_decay)
        grad = with_decay(grad, param, 0 if decoupled else weight_decay, mean.dtype)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(1 - beta2**step).sqrt_().add_(eps)
        add_ratio_(param, grad, root, -lr * factor[0])
        add_ratio_(param, mean, root, -lr * factor[1])
