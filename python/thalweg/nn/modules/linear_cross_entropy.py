"""Cross entropy of logits that are a linear map of the input."""

from __future__ import annotations

import math

from thalweg.nn import functional as F
from thalweg.nn.module import Module
from thalweg.nn.modules.linear import Linear

__all__ = ["LinearCrossEntropyLoss"]


class LinearCrossEntropyLoss(Module):
    """CrossEntropyLoss of Linear(input): [N, in_features] or [in_features] with a target for each of `out_features`.

    Args:
        in_features, num_classes: the sizes of the map.
        out_features: further dims (d_1, ...) of the target, [N, d_1, ...] or [N, num_classes, d_1, ...].
        bias: learn an additive bias.
        reduction, weight, label_smoothing: as for CrossEntropyLoss.
        ignore_index: the same; None is -100.
        options: accepted; how PyTorch cuts the computation into chunks does not change its result.

    >>> import thalweg as tw
    >>> loss = tw.nn.LinearCrossEntropyLoss(3, 4)
    >>> loss(tw.ones(2, 3), tw.tensor([0, 3])).dim()
    0
    """

    def __init__(
        self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction="mean",
        weight=None, ignore_index=None, label_smoothing=0.0, options=None,
    ):  # fmt: skip
        super().__init__()
        self.in_features, self.num_classes, self.out_features = in_features, num_classes, tuple(out_features)
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        size = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, size, bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        logits = self.linear(input)
        if self.out_features:
            logits = logits.unflatten(-1, (self.num_classes, *self.out_features))
        ignored = -100 if self.ignore_index is None else self.ignore_index
        return F.cross_entropy(
            logits, target, self.weight, ignore_index=ignored, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip

    def extra_repr(self):
        names = ("in_features", "num_classes", "out_features", "reduction", "ignore_index", "label_smoothing")
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
