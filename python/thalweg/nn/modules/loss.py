"""Losses, each a holder of the options of its function.

Common options: `reduction` is "mean", "sum" or "none"; `size_average` and `reduce` are its older spelling. `weight`
and `pos_weight` are kept as buffers, so that they move with the module.
"""

from __future__ import annotations

from thalweg.nn import functional as F
from thalweg.nn.module import Module
from thalweg.nn.modules.function_module import FunctionModule

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss",
    "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip

_OLD = {"size_average": None, "reduce": None}


class _Loss(FunctionModule):
    _not_passed = ("size_average", "reduce")
    _buffer_options = ("weight", "pos_weight")

    def _prepare(self, options):
        average, reduce = options.pop("size_average", None), options.pop("reduce", None)
        if average is not None or reduce is not None:
            options["reduction"] = "none" if reduce is False else "sum" if average is False else "mean"
        for name in self._buffer_options:
            if name in options:
                self.register_buffer(name, options.pop(name))
        return options

    def extra_repr(self):
        """The options, without the tensors."""
        names = (name for name in self._passed if name not in self._buffer_options)
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


class L1Loss(_Loss, function="l1_loss", **_OLD, reduction="mean"):
    """|input - target|, both of one shape."""


class MSELoss(_Loss, function="mse_loss", **_OLD, reduction="mean"):
    """(input - target)², both of one shape.

    >>> import thalweg as tw
    >>> tw.nn.MSELoss()(tw.tensor([1.0, 2.0]), tw.tensor([1.0, 4.0])).item()
    2.0
    """


class SmoothL1Loss(_Loss, function="smooth_l1_loss", **_OLD, reduction="mean", beta=1.0):
    """Quadratic below beta, linear above: d² / (2 beta), then |d| - beta / 2 (Girshick, 2015)."""


class HuberLoss(_Loss, function="huber_loss", reduction="mean", delta=1.0):
    """Quadratic below delta, linear above: d² / 2, then delta (|d| - delta / 2) (Huber, 1964)."""

    def _prepare(self, options):
        if not isinstance(options["delta"], (int, float)):
            raise TypeError(f"HuberLoss: delta must be a number, got {type(options['delta']).__name__}")
        return super()._prepare(options)


class NLLLoss(
    _Loss, function="nll_loss", weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    """-weight[t] · input[t] for log-probabilities [N, C, *] and class indices [N, *]; the mean is weighted."""


class CrossEntropyLoss(
    _Loss, function="cross_entropy",
    weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0,
):  # fmt: skip
    """-log softmax(input)[target], for logits [N, C, *] or [C].

    Args:
        weight: [C], a factor per class; the mean is weighted by it.
        ignore_index: targets of this index count neither in the sum nor in the mean.
        label_smoothing: the part of the target, in [0, 1], that is spread over all classes.

    The target is class indices [N, *] (int64) or probabilities of the input's shape.

    >>> import thalweg as tw
    >>> round(tw.nn.CrossEntropyLoss()(tw.zeros(2, 4), tw.tensor([0, 3])).item(), 4)
    1.3863
    """


class BCELoss(_Loss, function="binary_cross_entropy", weight=None, **_OLD, reduction="mean"):
    """-(t log p + (1 - t) log(1 - p)) for probabilities p; logarithms are kept above -100."""


class BCEWithLogitsLoss(
    _Loss, function="binary_cross_entropy_with_logits", weight=None, **_OLD, reduction="mean", pos_weight=None
):
    """BCELoss of σ(input), without overflow; pos_weight multiplies the positive term.

    >>> import thalweg as tw
    >>> round(tw.nn.BCEWithLogitsLoss()(tw.zeros(1), tw.ones(1)).item(), 4)
    0.6931
    """


class KLDivLoss(_Loss, function="kl_div", **_OLD, reduction="mean", log_target=False):
    """target (log target - input), the input being log-probabilities; "batchmean" divides the sum by N."""


class PoissonNLLLoss(
    _Loss, function="poisson_nll_loss",
    log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean",
):  # fmt: skip
    """e^x - t x (or x - t log(x + eps) unless log_input); `full` adds Stirling's term for t > 1."""


class GaussianNLLLoss(_Loss, function="gaussian_nll_loss", full=False, eps=1e-6, reduction="mean"):
    """(log max(var, eps) + (input - target)² / max(var, eps)) / 2; `full` adds log(2π) / 2.

    Inputs: input, target, var.
    """

    _keyword_only = ("full", "eps", "reduction")


class CTCLoss(_Loss, function="ctc_loss", blank=0, reduction="mean", zero_infinity=False):
    """-log of the probability of all alignments (Graves et al., 2006).

    Inputs: log_probs [T, N, C] or [T, C]; targets [N, S] or concatenated [Σ lengths]; input_lengths [N];
    target_lengths [N]. zero_infinity: zero instead of infinite losses where the input is too short.
    """


class HingeEmbeddingLoss(_Loss, function="hinge_embedding_loss", margin=1.0, **_OLD, reduction="mean"):
    """x where the target is 1, max(0, margin - x) where it is -1."""


class MarginRankingLoss(_Loss, function="margin_ranking_loss", margin=0.0, **_OLD, reduction="mean"):
    """max(0, -t (x1 - x2) + margin), with t = 1 when x1 should rank higher, else -1."""


class CosineEmbeddingLoss(_Loss, function="cosine_embedding_loss", margin=0.0, **_OLD, reduction="mean"):
    """1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - margin) where it is -1."""


class SoftMarginLoss(_Loss, function="soft_margin_loss", **_OLD, reduction="mean"):
    """log(1 + e^(-t x)), with t = ±1."""


class MultiMarginLoss(_Loss, function="multi_margin_loss", p=1, margin=1.0, weight=None, **_OLD, reduction="mean"):
    """Σ_i max(0, margin - x[t] + x[i])^p / C over the other classes, for x [N, C] and t [N]."""

    def _prepare(self, options):
        if options["p"] not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p = 1 or 2 is wanted, got {options['p']}")
        return super()._prepare(options)


class MultiLabelMarginLoss(_Loss, function="multilabel_margin_loss", **_OLD, reduction="mean"):
    """MultiMarginLoss with several targets: indices [N, C] of int64, up to the first -1."""


class MultiLabelSoftMarginLoss(_Loss, function="multilabel_soft_margin_loss", weight=None, **_OLD, reduction="mean"):
    """The mean over classes of BCEWithLogitsLoss, for input and target [N, C]."""


class TripletMarginLoss(
    _Loss, function="triplet_margin_loss", margin=1.0, p=2.0, eps=1e-6, swap=False, **_OLD, reduction="mean"
):
    """max(0, ‖a - p‖ - ‖a - n‖ + margin), inputs anchor, positive, negative [N, D] or [D].

    swap: use the smaller of ‖a - n‖ and ‖p - n‖ (Balntas et al., 2016).
    """

    def _prepare(self, options):
        if options["margin"] <= 0:
            raise ValueError(f"TripletMarginLoss: a positive margin is wanted, got {options['margin']}")
        return super()._prepare(options)


class TripletMarginWithDistanceLoss(Module):
    """TripletMarginLoss with a distance of one's own; by default the Euclidean one."""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: a positive margin is wanted, got {margin}")
        self.distance_function = F.pairwise_distance if distance_function is None else distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip
