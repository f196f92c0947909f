"""Adam and AdamW."""

from __future__ import annotations

import thalweg as tw
from thalweg._registry import ops
from thalweg.optim._common import as_number, check_betas, check_modes, check_options, column, next_steps
from thalweg.optim.optimizer import Optimizer

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """p -= lr · m̂ / (sqrt(v̂) + eps), m and v the running means of g and g² without their bias (Kingma & Ba, 2014).

    Args:
        params: see Optimizer.
        lr: the learning rate.
        betas: the decay of m and of v.
        eps: added to the root.
        weight_decay: the L2 penalty, added to the gradient; with decoupled_weight_decay as in AdamW.
        amsgrad: divide by the largest v so far (Reddi et al., 2018).
        maximize: ascend.
        foreach, capturable, fused: accepted.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.zeros(1))
    >>> optimizer = tw.optim.Adam([weight], lr=0.1)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> round(weight.item(), 4)
    -0.1
    """

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
        maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False,
    ):  # fmt: skip
        check_options(self, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(self, betas)
        check_modes(self, foreach, fused, differentiable)
        if foreach and not capturable and any(isinstance(value, tw.Tensor) for value in (lr, *betas)):
            raise ValueError(f"{type(self).__name__}: foreach=True takes rates and betas as numbers, got tensors")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        names = ("exp_avg", "exp_avg_sq") + (("max_exp_avg_sq",) if group["amsgrad"] else ())
        return {"step": 0, **{name: tw.zeros_like(param) for name in names}}

    def _update(self, group, params, grads, states):
        beta1, beta2 = (as_number(beta) for beta in group["betas"])
        ops.adam_step(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "max_exp_avg_sq") if group["amsgrad"] else [],
            next_steps(states),
            lr=as_number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            eps=as_number(group["eps"]),
            weight_decay=as_number(group["weight_decay"]),
            decoupled=group["decoupled_weight_decay"],
            maximize=group["maximize"],
        )


class AdamW(Adam):
    """Adam whose weight decay acts on the parameter, p *= 1 - lr · weight_decay, not on m and v.

    Args: those of Adam; weight_decay is by default 0.01. Source: Loshchilov & Hutter, 2019.
    """

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
        foreach=None, capturable=False, differentiable=False, fused=None,
    ):  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip
