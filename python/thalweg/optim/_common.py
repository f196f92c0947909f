"""What the optimizers share: checks of options, numbers out of tensors, and updates over mixed dtypes."""

from __future__ import annotations

import thalweg as tw


def check_options(optimizer, *, positive=(), **options):
    """Refuses negative options, and those named in `positive` when zero."""
    name = type(optimizer).__name__
    for option, value in options.items():
        if isinstance(value, tw.Tensor) and value.numel() != 1:
            raise ValueError(f"{name}: {option} must have one element, got {list(value.shape)}")
        number = as_number(value)
        if not number >= 0 or (option in positive and number == 0):
            wanted = "a positive" if option in positive else "a non-negative"
            raise ValueError(f"{name}: {wanted} {option} is wanted, got {number}")


def check_betas(optimizer, betas):
    """Refuses betas outside [0, 1), and a tensor beside a number."""
    if len({isinstance(beta, tw.Tensor) for beta in betas}) > 1:
        raise ValueError(
            f"{type(optimizer).__name__}: betas that are all numbers or all tensors are wanted, got {betas}"
        )
    for beta in betas:
        if not 0.0 <= as_number(beta) < 1.0:
            raise ValueError(f"{type(optimizer).__name__}: betas in [0, 1) are wanted, got {betas}")


def check_modes(optimizer, foreach=None, fused=None, differentiable=False):
    """Refuses what cannot be; foreach and fused choose among ways to the same numbers, of which there is one here."""
    name = type(optimizer).__name__
    if foreach and fused:
        raise ValueError(f"{name}: foreach or fused is wanted, got both")
    if differentiable:
        raise ValueError(f"{name}: differentiable=False is wanted; a step is never recorded")


def as_number(value):
    """The Python number in `value`, which may be a tensor of one element."""
    return value.item() if isinstance(value, tw.Tensor) else value


def ascending(group, grads):
    """The gradients to descend along: negated where the group's option maximize is set."""
    return [-grad for grad in grads] if group["maximize"] else grads


def column(states, name):
    """The entry `name` of every state."""
    return [state.get(name) for state in states]


def next_steps(states):
    """Counts a step in every state and returns the counts."""
    for state in states:
        state["step"] += 1
    return [state["step"] for state in states]


def add_ratio_(param, numerator, denominator, value):
    """param += value · numerator / denominator; state may be wider than the parameter, then the sum is rounded once."""
    if param.dtype == numerator.dtype == denominator.dtype:
        param.addcdiv_(numerator, denominator, value=value)
    else:
        param.add_(numerator / denominator, alpha=value)


def with_decay(grad, param, weight_decay, dtype=None):
    """grad + weight_decay · param, in `dtype` where given; grad itself is left as it is."""
    if dtype is not None and grad.dtype != dtype:
        grad = grad.to(dtype)
    return grad.add(param, alpha=weight_decay) if weight_decay else grad
