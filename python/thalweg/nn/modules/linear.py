"""Linear and bilinear maps."""

from __future__ import annotations

import math

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn import init
from thalweg.nn.module import Module
from thalweg.nn.modules.lazy import LazyModule, UninitializedParameter
from thalweg.nn.parameter import Parameter

__all__ = ["Bilinear", "LazyLinear", "Linear"]


class Linear(Module):
    """x Wᵀ + b: [*, in_features] to [*, out_features].

    Args:
        in_features, out_features: the sizes of the last dim.
        bias: learn an additive bias.

    Weight [out_features, in_features] and bias [out_features] are drawn from U(-k, k), k = 1 / sqrt(in_features).

    Errors: ValueError when the last dim is not in_features.

    >>> import thalweg as tw
    >>> tuple(tw.nn.Linear(3, 2)(tw.ones(5, 3)).shape)
    (5, 2)
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(tw.empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(tw.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws weight and bias anew."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        for parameter in self.parameters(recurse=False):
            init.uniform_(parameter, -bound, bound)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class LazyLinear(LazyModule, Linear):
    """Linear that learns in_features from its first input; it is a Linear from then on.

    >>> import thalweg as tw
    >>> layer = tw.nn.LazyLinear(2)
    >>> tuple(layer(tw.ones(1, 3)).shape), layer.in_features, type(layer).__name__
    ((1, 2), 3, 'Linear')
    """

    _becomes = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        Module.__init__(self)
        self.in_features = 0
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.register_parameter("bias", UninitializedParameter(device=device, dtype=dtype) if bias else None)

    def _shapes(self, input):
        self.in_features = input.shape[-1]
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}


class Bilinear(Module):
    """x1ᵀ W x2 + b: [*, in1_features] and [*, in2_features] to [*, out_features].

    Weight [out_features, in1_features, in2_features] and bias [out_features] are drawn from U(-k, k),
    k = 1 / sqrt(in1_features).
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: a positive in1_features is wanted, got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(tw.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(tw.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws weight and bias anew."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters(recurse=False):
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"
