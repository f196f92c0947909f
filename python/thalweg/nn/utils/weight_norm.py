"""Weights as a direction and a length (Salimans & Kingma, 2016)."""

from __future__ import annotations

from thalweg.nn.parameter import Parameter
from thalweg.nn.utils._reparameterize import find_hook, remove_hook

__all__ = ["remove_weight_norm", "weight_norm"]


class _WeightNorm:
    """Before each forward: weight = g v / ‖v‖, the norm over all dims but one."""

    def __init__(self, name, dim):
        self.name, self.dim = name, dim

    def norm(self, weight):
        """‖weight‖ over all dims but `dim`, which keep size 1; over all dims for None."""
        dims = [d for d in range(weight.dim()) if self.dim is None or d != self.dim % weight.dim()]
        squares = weight * weight
        return squares.sum().sqrt() if self.dim is None else squares.sum(dims, keepdim=True).sqrt()

    def compute(self, module):
        """The weight out of its two parameters."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / self.norm(v))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module))


def weight_norm(module, name="weight", dim=0):
    """Replaces the parameter `name` by its length `name`_g and its direction `name`_v; returns the module.

    Args:
        module: any module with such a parameter.
        name: the parameter's name.
        dim: lengths are kept for each index of this dim; None for one length.

    Errors: ValueError when it is already done.

    >>> import thalweg as tw
    >>> layer = tw.nn.utils.weight_norm(tw.nn.Linear(3, 2))
    >>> tuple(layer.weight_g.shape), tuple(layer.weight_v.shape)
    ((2, 1), (2, 3))
    """
    if find_hook(module, _WeightNorm, name) is not None:
        raise ValueError(f"weight_norm: {name!r} of {type(module).__name__} has a weight norm already")
    hook, weight = _WeightNorm(name, dim), getattr(module, name)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(hook.norm(weight.detach())))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Makes `name` one parameter again, of the same values; returns the module."""
    hook = remove_hook(module, _WeightNorm, name, "remove_weight_norm")
    weight = hook.compute(module)
    for attribute in (name, name + "_g", name + "_v"):
        delattr(module, attribute)
    module.register_parameter(name, Parameter(weight.detach()))
    return module
