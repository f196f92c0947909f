"""Keeping gradients small."""

from __future__ import annotations

import functools
import math

import thalweg as tw
from thalweg._registry import ops
from thalweg.frontend.placements import by_placement, local_value, one_placement, whole_on

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of the vector of all elements of `tensors`, a scalar tensor.

    Args:
        norm_type: the p of the norm; may be inf.
        error_if_nonfinite: raise ValueError when the norm is infinite or no number.
        foreach: accepted; there is one implementation.

    >>> import thalweg as tw
    >>> tw.nn.utils.get_total_norm([tw.tensor([3.0]), tw.tensor([4.0])]).item()
    5.0
    """
    tensors = [tensors] if isinstance(tensors, tw.Tensor) else list(tensors)
    if not tensors:
        return tw.tensor(0.0)
    with tw.no_grad():
        sizes = [tensor.abs() if tensor.is_complex() else tensor for tensor in tensors]
        norms = [_norm_of(group, float(norm_type)) for group in by_placement(sizes)]
        total = norms[0] if len(norms) == 1 else _norm_of([tw.stack(one_placement(norms))], float(norm_type))
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise ValueError(f"get_total_norm: a finite norm is wanted, got {total.item()}")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the parameters' gradients in place by min(1, max_norm / (total_norm + 1e-6))."""
    grads = _grads(parameters)
    if grads:
        with tw.no_grad():
            reals = [tw.view_as_real(grad) if grad.is_complex() else grad for grad in grads]
            for group in by_placement(reals):
                ops.multi_tensor_clip(group, _beside(group[0], total_norm), max_norm=float(max_norm))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients in place so that their total norm is at most `max_norm`; a shared tensor counts once.

    Args:
        parameters: a tensor or an iterable of them; those without gradient are skipped.
        norm_type, error_if_nonfinite: as for get_total_norm.

    Returns: the total norm before clipping, a scalar tensor.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.zeros(2))
    >>> weight.grad = tw.tensor([3.0, 4.0])
    >>> tw.nn.utils.clip_grad_norm_([weight], 1.0).item()
    5.0
    >>> [round(x, 4) for x in weight.grad.tolist()]
    [0.6, 0.8]
    """
    parameters = _unique(parameters)
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamps every element of the gradients, in place, to [-clip_value, clip_value]."""
    clip_value = float(clip_value)
    with tw.no_grad():
        for grad in _grads(parameters):
            grad.clamp_(min=-clip_value, max=clip_value)


def _norm_of(tensors, p):
    """The norm of tensors on one placement. What is split stays split: of each device's part one number travels."""
    if tensors[0].is_local or p == 0:
        return ops.multi_tensor_norm(tensors, p=p)
    if math.isinf(p):
        norms = [ops.multi_tensor_norm([tensor], p=p) for tensor in tensors]
        return functools.reduce(tw.maximum if p > 0 else tw.minimum, norms)
    total = sum((tensor.square() if p == 2 else tensor.abs() ** p).sum() for tensor in tensors)
    return total.sqrt() if p == 2 else total ** (1 / p)


def _beside(tensor, total):
    """`total` where `tensor` lies."""
    return whole_on(total, tensor.placement) if tensor.is_global else local_value(total)


def _unique(parameters):
    parameters = [parameters] if isinstance(parameters, tw.Tensor) else parameters
    return list({id(parameter): parameter for parameter in parameters}.values())


def _grads(parameters):
    return [parameter.grad for parameter in _unique(parameters) if parameter.grad is not None]
