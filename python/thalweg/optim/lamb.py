"""LAMB."""

from __future__ import annotations

import thalweg as tw
from thalweg._registry import ops
from thalweg.optim._common import as_number, check_betas, check_modes, check_options, column, next_steps
from thalweg.optim.optimizer import Optimizer

__all__ = ["LAMB"]


class LAMB(Optimizer):
    """p -= lr · (‖p‖ / ‖u‖) · u, u = m̂ / (sqrt(v̂) + eps) + weight_decay · p: Adam scaled layer by layer.

    Args: params, lr, betas and eps as for Adam; weight_decay acts on the parameter; maximize: ascend; foreach, fused:
    accepted. The ratio is 1 where a norm is zero. Source: You et al., 2020, for large batches.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.full((1,), 2.0))
    >>> optimizer = tw.optim.LAMB([weight], lr=0.1)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> round(weight.item(), 4)
    1.8
    """

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0, *, maximize=False, foreach=None, fused=None
    ):
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        check_modes(self, foreach, fused)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": 0, "exp_avg": tw.zeros_like(param), "exp_avg_sq": tw.zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        ops.lamb_step(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            next_steps(states),
            lr=as_number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
