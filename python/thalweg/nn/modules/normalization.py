"""Normalisation within a sample: layer, group, RMS and local response."""

from __future__ import annotations

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn.module import Module
from thalweg.nn.modules.function_module import REQUIRED, FunctionModule
from thalweg.nn.parameter import Parameter

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    """A norm with a weight of ones and a bias of zeros, each of `shape` or absent."""

    def _make_affine(self, shape, weight, bias, device, dtype):
        for name, wanted in (("weight", weight), ("bias", bias)):
            parameter = Parameter(tw.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self):
        """Sets the weight to 1 and the bias to 0."""
        with tw.no_grad():
            if self.weight is not None:
                self.weight.fill_(1)
            if self.bias is not None:
                self.bias.fill_(0)


def _as_shape(normalized_shape):
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """(x - mean) / sqrt(var + eps) · weight + bias over the last dims (Ba et al., 2016).

    Args:
        normalized_shape: the sizes of the last dims, or of the last one.
        eps: added to the variance, which is the biased one.
        elementwise_affine: learn weight and bias, of shape normalized_shape.
        bias: learn the bias too.

    >>> import thalweg as tw
    >>> [round(x, 3) for x in tw.nn.LayerNorm(2)(tw.tensor([1.0, 3.0])).tolist()]
    [-1.0, 1.0]
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(Module):
    """x / sqrt(mean(x²) + eps) · weight over the last dims (Zhang & Sennrich, 2019).

    Args:
        normalized_shape, elementwise_affine: as for LayerNorm; there is no bias.
        eps: added to the mean square; None is the smallest step of the input's dtype around 1.
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(tw.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self):
        """Sets the weight to 1."""
        if self.weight is not None:
            with tw.no_grad():
                self.weight.fill_(1)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """LayerNorm of each group of channels of [N, C, *], with weight and bias a channel (Wu & He, 2018).

    >>> import thalweg as tw
    >>> tw.nn.GroupNorm(2, 4)(tw.ones(1, 4, 3)).abs().max().item()
    0.0
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_groups <= 0 or num_channels % num_groups:
            raise ValueError(f"GroupNorm: groups that divide {num_channels} channels are wanted, got {num_groups}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make_affine((num_channels,), affine, affine and bias, device, dtype)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class LocalResponseNorm(FunctionModule, function="local_response_norm", size=REQUIRED, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha · mean of x² over `size` neighbouring channels)^beta, for [N, C, *] (Krizhevsky et al., 2012)."""
