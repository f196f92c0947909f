"""Distances, similarities, and losses with margins. reduction is "none", "mean" or "sum"."""

from collections.abc import Callable

from thalweg._core._tensor import Tensor
from thalweg._registry import FUNCTIONS, export, ops
from thalweg.composites.nn_loss import Flag, legacy_reduction, reduced
from thalweg.composites.support import broadcast_shape, require_none
from thalweg.frontend.global_creation import beside


@export(nn=True, function=True)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dim."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@export(nn=True, function=True)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`; norms below eps count as eps."""
    if not (x1.dtype.is_floating_point and x2.dtype.is_floating_point):
        raise RuntimeError(f"cosine_similarity: floating dtypes are wanted, got {x1.dtype} and {x2.dtype}")
    shape = broadcast_shape("cosine_similarity", x1.shape, x2.shape)  # first: dim may be one along which x1 repeats
    x1, x2 = x1.expand(shape), x2.expand(shape)
    x1 = x1 / x1.norm(2, dim, True).clamp(min=eps)
    x2 = x2 / x2.norm(2, dim, True).clamp(min=eps)
    return (x1 * x2).sum(dim)


@export(nn=True, function=True)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    apart = ops.where(target != 1, (margin - input).clamp(min=0), 0.0)
    together = ops.where(target != -1, input, 0.0)
    return reduced(apart + together, legacy_reduction(size_average, reduce, reduction), "hinge_embedding_loss")


@export(nn=True, function=True)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin)."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss: the ranks must agree, got shapes {tuple(input1.shape)}, "
            f"{tuple(input2.shape)} and {tuple(target.shape)}"
        )
    loss = (-target * (input1 - input2) + margin).clamp(min=0)
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "margin_ranking_loss")


@export(nn=True, function=True)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos of the inputs (N, D) where the target (N) is 1, max(0, cos - margin) where it is -1."""
    if target.ndim > 1 or input1.ndim != target.ndim + 1 or input1.ndim != input2.ndim:
        raise RuntimeError(
            f"cosine_embedding_loss: inputs (N, D) and targets (N), or (D) and (), are wanted, got "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}"
        )
    # The squares are kept off 0, so that zero vectors have a gradient.
    squares = (input1.square().sum(-1) + 1e-12) * (input2.square().sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / squares.sqrt()
    loss = ops.where(target == 1, 1 - cosine, 0.0) + ops.where(target == -1, (cosine - margin).clamp(min=0), 0.0)
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "cosine_embedding_loss")


@export(nn=True)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for a distance d, pairwise_distance() if None.

    swap takes the smaller of d(anchor, negative) and d(positive, negative). Balntas et al., BMVC 2016.
    """
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin must be positive, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"triplet_margin_loss: the ranks must agree, got shapes {tuple(anchor.shape)}, "
            f"{tuple(positive.shape)} and {tuple(negative.shape)}"
        )
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction, "triplet_margin_with_distance_loss")


@export(nn=True, function=True)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_with_distance_loss for the p-norm of differences."""
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=legacy_reduction(size_average, reduce, reduction),
    )


def _classes(input: Tensor, size: int) -> Tensor:
    with beside(input):
        return FUNCTIONS["arange"](size)


def _check_classes(input: Tensor, target: Tensor, name: str, per_class: bool) -> None:
    wanted = input.shape if per_class else input.shape[:-1]
    if input.ndim not in (1, 2) or (target.shape != wanted and not (input.ndim == 1 and target.numel() == 1)):
        raise RuntimeError(
            f"{name}: the target of shape {tuple(target.shape)} does not fit the input of shape {tuple(input.shape)}"
        )


@export(nn=True)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes j other than the target y of weight[y] max(0, margin - input[y] + input[j])^p.

    Raises:
        ValueError: p is neither 1 nor 2.
    """
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, got {p}")
    if input.ndim == 0:
        input = input.unsqueeze(0)
    _check_classes(input, target, "multi_margin_loss", False)
    classes = input.shape[-1]
    if weight is not None and (weight.ndim != 1 or weight.numel() != classes):
        raise ValueError(f"multi_margin_loss: {classes} weights are wanted, got shape {tuple(weight.shape)}")
    single = input.ndim == 1
    rows, labels = (input.unsqueeze(0), target.reshape([1])) if single else (input, target)
    column = labels.unsqueeze(-1)
    terms = (margin - rows.gather(-1, column) + rows).clamp(min=0)
    terms = terms.square() if p == 2 else terms
    if weight is not None:
        terms = terms * weight.index_select(0, labels).unsqueeze(-1)
    loss = ops.where(_classes(input, classes) == column, 0.0, terms).sum(-1) / classes
    loss = loss.squeeze(0) if single else loss
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "multi_margin_loss")


@export(nn=True)
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """The sum over labels y and classes j that are no label of max(0, 1 - input[y] + input[j]), over all classes.

    A row of target lists the labels, and ends at the first -1.
    """
    if input.ndim == 0:
        input, target = input.unsqueeze(0), target.reshape([1])
    _check_classes(input, target, "multilabel_margin_loss", True)
    classes = input.shape[-1]
    if not classes:
        raise RuntimeError(f"multilabel_margin_loss: at least one class is wanted, got shape {tuple(input.shape)}")
    outside = (target >= classes) | (target < -1)
    require_none(outside, RuntimeError, f"multilabel_margin_loss: labels must be in [-1, {classes - 1}]")
    given = (target >= 0).long().cumprod(-1) > 0
    labels = target.clamp(min=0)
    is_label = ((labels.unsqueeze(-1) == _classes(input, classes)) & given.unsqueeze(-1)).sum(-2) > 0
    terms = (1 - input.gather(-1, labels).unsqueeze(-1) + input.unsqueeze(-2)).clamp(min=0)
    counted = given.unsqueeze(-1) & ~is_label.unsqueeze(-2)
    loss = ops.where(counted, terms, 0.0).sum([-2, -1]) / classes
    return reduced(loss, legacy_reduction(size_average, reduce, reduction), "multilabel_margin_loss")
