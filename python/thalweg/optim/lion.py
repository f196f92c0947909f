"""Lion."""

from __future__ import annotations

import thalweg as tw
from thalweg._registry import ops
from thalweg.optim._common import as_number, check_betas, check_modes, check_options, column
from thalweg.optim.optimizer import Optimizer

__all__ = ["Lion"]


class Lion(Optimizer):
    """p -= lr · (sign(beta1 · m + (1 - beta1) · g) + weight_decay · p), then m = beta2 · m + (1 - beta2) · g.

    Args: params, lr, betas: see above; weight_decay acts on the parameter; maximize: ascend; foreach, fused: accepted.
    Source: Chen et al., 2023. A good lr is 3 to 10 times smaller than for AdamW, weight_decay as much larger.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.zeros(1))
    >>> optimizer = tw.optim.Lion([weight], lr=0.5)
    >>> (3 * weight).sum().backward()
    >>> optimizer.step()
    >>> weight.item()
    -0.5
    """

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0, *, maximize=False, foreach=None, fused=None):
        check_options(self, lr=lr, weight_decay=weight_decay)
        check_betas(self, betas)
        check_modes(self, foreach, fused)
        defaults = {
            "lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"exp_avg": tw.zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        ops.lion_step(
            params,
            grads,
            column(states, "exp_avg"),
            lr=as_number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
