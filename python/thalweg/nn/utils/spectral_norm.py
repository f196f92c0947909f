"""Weights divided by their largest singular value (Miyato et al., 2018)."""

from __future__ import annotations

import thalweg as tw
from thalweg.nn.parameter import Parameter
from thalweg.nn.utils._reparameterize import find_hook, remove_hook

__all__ = ["remove_spectral_norm", "spectral_norm"]


class _SpectralNorm:
    """Before each forward: weight = weight_orig / σ, σ = uᵀ W v; in training u and v take a power iteration first."""

    def __init__(self, name, iterations, dim, eps):
        self.name, self.iterations, self.dim, self.eps = name, iterations, dim, eps

    def matrix(self, weight):
        """The weight as a matrix whose rows are the indices of `dim`."""
        return weight.movedim(self.dim, 0).flatten(1)

    def normalized(self, vector):
        return vector / tw.linalg.vector_norm(vector).clamp(min=self.eps)

    def compute(self, module, iterate):
        """The weight out of its parameter; the gradient passes through σ, not through u and v."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.matrix(weight)
        if iterate:
            with tw.no_grad():
                for _ in range(self.iterations):
                    v.copy_(self.normalized(matrix.t() @ u))
                    u.copy_(self.normalized(matrix @ v))
        # The next iteration writes to u and v, so the tape gets copies.
        sigma = u.clone().dot(matrix @ v.clone())
        return weight / sigma

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module, module.training))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides the parameter `name` by an estimate of its largest singular value; returns the module.

    Args:
        module: any module with such a parameter; it becomes `name`_orig, beside the buffers `name`_u and `name`_v.
        n_power_iterations: steps of the estimate in each training forward.
        eps: bounds the norms from below.
        dim: the dim of outputs; default 1 for transposed convolutions, else 0.

    Errors: ValueError when it is already done.

    >>> import thalweg as tw
    >>> layer = tw.nn.utils.spectral_norm(tw.nn.Linear(3, 2))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if find_hook(module, _SpectralNorm, name) is not None:
        raise ValueError(f"spectral_norm: {name!r} of {type(module).__name__} has a spectral norm already")
    if n_power_iterations <= 0:
        raise ValueError(f"spectral_norm: a positive n_power_iterations is wanted, got {n_power_iterations}")
    if dim is None:
        dim = 1 if getattr(module, "_transposed", False) else 0  # where convolutions say it
    hook, weight = _SpectralNorm(name, n_power_iterations, dim, eps), getattr(module, name)
    matrix = hook.matrix(weight.detach())
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    for suffix, size in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
        vector = tw.empty(size, dtype=weight.dtype, device=weight.device).normal_()
        module.register_buffer(name + suffix, hook.normalized(vector))
    setattr(module, name, weight.detach())
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Makes `name` one parameter again, of the divided values; returns the module."""
    hook = remove_hook(module, _SpectralNorm, name, "remove_spectral_norm")
    weight = hook.compute(module, iterate=False).detach()
    for attribute in (name, name + "_orig", name + "_u", name + "_v"):
        delattr(module, attribute)
    module.register_parameter(name, Parameter(weight))
    return module
