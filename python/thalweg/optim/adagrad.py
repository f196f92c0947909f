"""Adagrad."""

from __future__ import annotations

import thalweg as tw
from thalweg._registry import ops
from thalweg.optim._common import as_number, check_modes, check_options, column, next_steps
from thalweg.optim.optimizer import Optimizer

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """p -= lr / (1 + (t - 1) lr_decay) · g / (sqrt(Σ g²) + eps) (Duchi et al., 2011).

    Args:
        params: see Optimizer.
        lr, lr_decay: the learning rate and how it falls with the step t.
        weight_decay: the L2 penalty.
        initial_accumulator_value: where Σ g² starts.
        eps: added to the root.
        maximize: ascend.
        foreach, fused: accepted.
    """

    def __init__(
        self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
        maximize=False, differentiable=False, fused=None,
    ):  # fmt: skip
        check_options(
            self, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps,
            initial_accumulator_value=initial_accumulator_value,
        )  # fmt: skip
        check_modes(self, foreach, fused, differentiable)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        start = group["initial_accumulator_value"]
        return {"step": 0, "sum": tw.full_like(param, complex(start, start) if param.is_complex() else start)}

    def _update(self, group, params, grads, states):
        ops.adagrad_step(
            params,
            grads,
            column(states, "sum"),
            next_steps(states),
            lr=as_number(group["lr"]),
            lr_decay=group["lr_decay"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
