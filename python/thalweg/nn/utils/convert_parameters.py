"""All parameters as one vector, and back."""

from __future__ import annotations

import thalweg as tw

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters):
    """The elements of all parameters, one after the other, as one vector [Σ sizes]; gradients flow through.

    >>> import thalweg as tw
    >>> tuple(tw.nn.utils.parameters_to_vector(tw.nn.Linear(2, 3).parameters()).shape)
    (9,)
    """
    return tw.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Sets the parameters' data to consecutive pieces of `vec`, which they then share.

    Errors: TypeError when `vec` is no tensor, ValueError when it has too few elements.
    """
    if not isinstance(vec, tw.Tensor):
        raise TypeError(f"vector_to_parameters: a tensor is wanted, got {type(vec).__name__}")
    parameters = list(parameters)
    wanted = sum(parameter.numel() for parameter in parameters)
    if vec.numel() < wanted:
        raise ValueError(f"vector_to_parameters: {wanted} elements are wanted, got {vec.numel()}")
    start = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = vec.detach()[start : start + size].view(parameter.shape)
        start += size
