"""Losses over classes: cross_entropy and nll_loss, for class indices and for probabilities, and ctc_loss."""

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops

__all__ = ["cross_entropy", "ctc_loss", "nll_loss"]


def reduction_name(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction, where PyTorch's old flags may still choose it."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _kept_weight(target: Tensor, weight: Tensor | None, ignore_index: int) -> Tensor:
    """The sum of the weights of the rows that are kept: what a mean divides by."""
    kept = ops.ne(target, ignore_index)
    if weight is None:
        return ops.sum(kept)
    rows = ops.index_gather(weight, [ops.where(kept, target, 0)])
    return ops.sum(ops.where(kept, rows, 0.0))


def _mean_of_parts(op: Callable, input: Tensor, target: Tensor, weight: Tensor | None, *options: Any) -> Tensor:
    """The sum over all rows by the weight that is kept. Half types are summed in float32: their sums overflow."""
    wide = input.float() if input.dtype.itemsize == 2 else input
    weight = weight if weight is None else weight.to(wide.dtype)
    total = op(wide, target, weight, options[0], "sum", *options[1:])
    return (total / _kept_weight(target, weight, options[0])).to(input.dtype)


def _is_mean_of_parts(input: Tensor, target: Tensor, reduction: str) -> bool:
    """A device with some of the rows cannot tell by how much the mean divides; it can sum them."""
    return reduction == "mean" and input.ndim > 1 and target.ndim == input.ndim - 1 and _native.is_global(input)


def _with_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    if target.shape != input.shape:
        raise ValueError(
            f"cross_entropy: probabilities must have input's shape {list(input.shape)}, got {list(target.shape)}"
        )
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"cross_entropy: label_smoothing must be in [0, 1], got {label_smoothing}")
    dim = 1 if input.ndim > 1 else 0
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[dim]
    terms = ops.log_softmax(input, dim) * target
    if weight is not None:
        terms = terms * weight.reshape([-1] + [1] * (input.ndim - 1 - dim))
    if reduction == "none":
        return ops.neg(ops.sum(terms, dim))
    total = ops.neg(ops.sum(terms))
    return total if reduction == "sum" else total / (input.numel() / input.shape[dim] if input.numel() else 0.0)


@export(nn=True)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy between softmax(input) over the classes and a target.

    input: [classes], [N, classes] or [N, classes, d1, ...]; target: class indices without the classes' dim, or
    probabilities of input's shape. weight: [classes]. Rows whose target is ignore_index count for nothing; the mean
    divides by the sum of the weights of the rows that are kept.

    Raises:
        IndexError: a target that is neither a class nor ignore_index.
    """
    reduction = reduction_name(reduction, size_average, reduce)
    if target.dtype.is_floating_point:
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"cross_entropy: reduction must be 'none', 'mean' or 'sum', got {reduction!r}")
        if ignore_index >= 0:
            raise RuntimeError(
                f"cross_entropy: ignore_index is for class indices, got {ignore_index} and probabilities"
            )
        return _with_probabilities(input, target, weight, reduction, label_smoothing)
    if _is_mean_of_parts(input, target, reduction):
        return _mean_of_parts(ops.cross_entropy_index, input, target, weight, ignore_index, label_smoothing)
    return ops.cross_entropy_index(input, target, weight, ignore_index, reduction, label_smoothing)


@export(nn=True)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of class indices under log-probabilities; shapes as in cross_entropy.

    Raises:
        IndexError: a target that is neither a class nor ignore_index.
    """
    reduction = reduction_name(reduction, size_average, reduce)
    if _is_mean_of_parts(input, target, reduction):
        return _mean_of_parts(ops.nll_loss_index, input, target, weight, ignore_index)
    return ops.nll_loss_index(input, target, weight, ignore_index, reduction)


def _lengths(lengths: Tensor | Sequence[int] | int) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.dtype.is_floating_point or lengths.dtype.is_complex:
            raise RuntimeError(f"ctc_loss: lengths must be integers, got {lengths.dtype}")
        lengths = lengths.tolist()
    return [lengths] if isinstance(lengths, int) else list(lengths)


@export(nn=True)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The connectionist temporal classification loss.

    log_probs: [T, N, C] or [T, C], logarithms of probabilities; targets: [N, S] or all targets one after the other.
    The mean divides each sequence's loss by the length of its target first. Targets that no alignment reaches cost
    infinity, or 0 with zero_infinity. The gradient takes log_probs for the result of log_softmax: it is the one by the
    logits, which log_softmax's own leaves as it is.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"ctc_loss: reduction must be 'none', 'mean' or 'sum', got {reduction!r}")
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    if targets.dtype.is_floating_point:
        raise RuntimeError(f"ctc_loss: targets must be integers, got {targets.dtype}")
    sizes = _lengths(target_lengths)
    losses = ops.ctc_loss_each(log_probs, targets.long(), _lengths(input_lengths), sizes, blank, zero_infinity)
    if reduction == "sum":
        return ops.sum(losses)
    if reduction == "mean":
        from_lengths = losses.new_tensor([max(size, 1) for size in sizes])
        return ops.mean(losses / from_lengths)
    return losses.squeeze(0) if single else losses


@export(function=True, name="ctc_loss")
def ctc_loss_function(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int | str = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """nn.functional.ctc_loss, where reduction may be torch.ctc_loss's number: 0 none, 1 mean, 2 sum."""
    names: dict = {0: "none", 1: "mean", 2: "sum"}
    return ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, names.get(reduction, reduction), zero_infinity
    )
