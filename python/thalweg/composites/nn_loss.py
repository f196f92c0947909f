"""Losses that compare element by element. reduction is "none", "mean" or "sum" (and "batchmean" for kl_div)."""

import math
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.support import require_none
from thalweg.frontend.dtypes import result_type

Flag = bool | None


def legacy_reduction(size_average: Flag, reduce: Flag, reduction: str) -> str:
    """The reduction that PyTorch's two old flags stand for, where any is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduced(loss: Tensor, reduction: str, name: str) -> Tensor:
    """The loss after its reduction."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f'{name}: reduction must be "none", "mean" or "sum", got {reduction!r}')


def _check_weight(weight: Tensor, input: Tensor, name: str) -> None:
    if weight.shape != input.shape:
        raise ValueError(f"{name}: weight must have the input's shape {tuple(input.shape)}, got {tuple(weight.shape)}")


def _weighted(loss: Tensor, weight: Tensor | None, input: Tensor, reduction: str, name: str) -> Tensor:
    """reduced(), the mean being that of the weights."""
    if weight is None:
        return reduced(loss, reduction, name)
    _check_weight(weight, input, name)
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduced(loss, reduction, name)


@export(nn=True)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)^2."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _weighted((input - target).square(), weight, input, reduction, "mse_loss")


@export(nn=True)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _weighted((input - target).abs(), weight, input, reduction, "l1_loss")


@export(nn=True)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d^2 / (2 beta) where d = |input - target| is below beta, else d - beta / 2.

    Raises:
        ValueError: a negative beta.
    """
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    distance = (input - target).abs()
    loss = ops.where(distance < beta, distance.square() * (0.5 / beta), distance - 0.5 * beta)
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "smooth_l1_loss")


@export(nn=True)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d^2 / 2 where d = |input - target| is at most delta, else delta (d - delta / 2).

    Raises:
        ValueError: a delta that is not positive.
    """
    if delta <= 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")
    dtype = result_type(input, target)
    if dtype.itemsize == 2:  # delta and the squares would lose digits
        input, target = input.float(), target.float()
    distance = (input - target).abs()
    loss = ops.where(distance <= delta, distance.square() * 0.5, (distance - 0.5 * delta) * delta).to(dtype)
    if weight is not None:
        _check_weight(weight, input, "huber_loss")
        loss = loss * weight
    return reduced(loss, reduction, "huber_loss")


@export(nn=True)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)), the logarithms limited to -100.

    Raises:
        ValueError: shapes that differ.
        RuntimeError: an input outside [0, 1].
    """
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy: target must have the input's shape {tuple(input.shape)}, got {tuple(target.shape)}"
        )
    outside = (input.detach() < 0) | (input.detach() > 1)
    require_none(outside, RuntimeError, "binary_cross_entropy: the input must be in [0, 1]")
    loss = ops.binary_cross_entropy_each(input, target)
    if weight is not None:
        loss = loss * weight
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "binary_cross_entropy")


@export(nn=True)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow; pos_weight multiplies the term of positive targets.

    Raises:
        ValueError: shapes that differ.
    """
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits: target must have the input's shape {tuple(input.shape)}, "
            f"got {tuple(target.shape)}"
        )
    positive = ops.logsigmoid(input)
    if pos_weight is not None:
        positive = positive * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - positive
    if weight is not None:
        loss = loss * weight
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "binary_cross_entropy_with_logits")


@export(nn=True)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log(target) - input): input holds logarithms, target does where log_target says so."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduced(loss, reduction, "kl_div")


@export(nn=True, function=True)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Flag = None,
    eps: float = 1e-8,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts under a Poisson distribution of rate exp(input), or input itself.

    full adds Stirling's approximation of log(target!) for targets above 1.
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (target * (2 * math.pi)).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "poisson_nll_loss")


def _variance(var: Any, input: Tensor) -> Tensor:
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var must not be negative, got {var}")
        return input.new_full(input.shape, var)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or [v for n, v in zip(input.shape, var.shape, strict=True) if n != v] != [1]:
            raise ValueError(
                f"gaussian_nll_loss: var of shape {tuple(var.shape)} does not fit the input of shape "
                f"{tuple(input.shape)}"
            )
    require_none(var.detach() < 0, ValueError, "gaussian_nll_loss: var must not be negative")
    return var


@export(nn=True)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of targets under a normal distribution of mean `input` and variance `var`.

    Variances below eps count as eps; the gradient of var takes no notice of that.
    """
    given = _variance(var, input)
    spread = given + (given.detach().clamp(min=eps) - given.detach())
    loss = 0.5 * (spread.log() + (input - target).square() / spread)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction, "gaussian_nll_loss")


@export(nn=True)
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target input)) for targets 1 and -1."""
    loss = -ops.logsigmoid(target * input)
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "soft_margin_loss")


@export(nn=True)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of binary_cross_entropy_with_logits."""
    loss = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.mean(-1)
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "multilabel_soft_margin_loss")
