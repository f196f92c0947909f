"""Resilient propagation."""

from __future__ import annotations

import thalweg as tw
from thalweg.optim._common import as_number, ascending, check_modes, check_options, column
from thalweg.optim.optimizer import Optimizer

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """p -= step · sign(g), the step of each element growing while g keeps its sign, shrinking when it flips.

    Args:
        params: see Optimizer.
        lr: the first step.
        etas: the factors for shrinking and growing.
        step_sizes: the smallest and the largest step.
        maximize: ascend.
        capturable, foreach: accepted.

    For full batches. Source: Riedmiller & Braun, 1993.
    """

    def __init__(
        self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
        maximize=False, differentiable=False,
    ):  # fmt: skip
        check_options(self, lr=lr)
        check_modes(self, foreach, None, differentiable)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Rprop: 0 < etas[0] < 1 < etas[1] is wanted, got {etas}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        lr = as_number(group["lr"])
        first = tw.full_like(param, complex(lr, lr) if param.is_complex() else lr)
        return {"step": 0, "prev": tw.zeros_like(param), "step_size": first}

    def _update(self, group, params, grads, states):
        for state in states:
            state["step"] += 1
        _multi_tensor_rprop(
            params,
            ascending(group, grads),
            column(states, "prev"),
            column(states, "step_size"),
            group["etas"],
            group["step_sizes"],
        )


def _multi_tensor_rprop(params, grads, previous, step_sizes, etas, bounds):
    for param, grad, before, size in zip(params, grads, previous, step_sizes):
        agreement = (grad * before).sign()
        factor = tw.ones_like(size).masked_fill(agreement > 0, etas[1]).masked_fill(agreement < 0, etas[0])
        size.mul_(factor).clamp_(bounds[0], bounds[1])
        grad = grad.masked_fill(agreement < 0, 0)  # after a flip the element rests for one step
        param.sub_(grad.sign().mul_(size))
        before.copy_(grad)
