"""Dropout in its forms. In evaluation, and for p = 0, the result is the input itself."""

from thalweg._core._tensor import Tensor, op
from thalweg._registry import export, ops
from thalweg.composites.random_tensors import rand
from thalweg.frontend.global_creation import beside, like

# What SELU maps minus infinity to: the value of dropped elements in alpha dropout. Klambauer et al., arXiv:1706.02515.
_SATURATION = -1.7580993408473766


def _check(p: float, name: str) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p must be in [0, 1], got {p}")


@export(nn=True, function=True)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability p and divides the others by 1 - p. Srivastava et al., JMLR 15, 2014.

    >>> import thalweg as tw
    >>> tw.nn.functional.dropout(tw.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """
    _check(p, "dropout")
    if not training or p == 0:
        return input
    return op("dropout_of", inplace)(input, p)


def _feature_noise(input: Tensor, p: float, name: str) -> Tensor:
    """Bools for each sample and channel, True where it is kept."""
    if input.ndim < 2:
        raise RuntimeError(f"{name}: an input of at least 2 dims is wanted, got shape {tuple(input.shape)}")
    with beside(input):
        return rand([*input.shape[:2], *[1] * (input.ndim - 2)]) >= p


def _scaled(input: Tensor, kept: Tensor, p: float, inplace: bool) -> Tensor:
    factor = 0.0 if p == 1 else 1.0 / (1.0 - p)
    scale = ops.where(kept, factor, 0.0).to(input.dtype)
    return input.mul_(scale) if inplace else input * scale


@export(function=True)
def feature_dropout(input: Tensor, p: float = 0.5, train: bool = True) -> Tensor:
    """dropout() of whole channels (dim 1)."""
    _check(p, "feature_dropout")
    if not train or p == 0:
        return input
    return _scaled(input, _feature_noise(input, p, "feature_dropout"), p, False)


def _channels(input: Tensor, p: float, training: bool, inplace: bool, name: str, single: int) -> Tensor:
    _check(p, name)
    if not training or p == 0:
        return input
    # An input without a batch has its channels in dim 0.
    if input.ndim != single:
        return _scaled(input, _feature_noise(input, p, name), p, inplace)
    return _scaled(input, _feature_noise(input.unsqueeze(0), p, name).squeeze(0), p, inplace)


@export(nn=True)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout() of whole channels of inputs (N, C, L) or (C, L)."""
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: an input of 2 or 3 dims is wanted, got shape {tuple(input.shape)}")
    return _channels(input, p, training, inplace, "dropout1d", 2)


@export(nn=True)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout() of whole channels of inputs (N, C, H, W); in other ranks, too, dim 1 holds the channels."""
    return _channels(input, p, training, inplace, "dropout2d", -1)


@export(nn=True)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout() of whole channels of inputs (N, C, D, H, W) or (C, D, H, W)."""
    return _channels(input, p, training, inplace, "dropout3d", 4)


def _alpha(input: Tensor, kept: Tensor, p: float, inplace: bool) -> Tensor:
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    # a and b restore mean 0 and variance 1 after elements have taken the saturation value.
    a = (1.0 - p + _SATURATION**2 * p * (1.0 - p)) ** -0.5
    b = -a * _SATURATION * p
    scale = ops.where(kept, a, 0.0).to(input.dtype)
    shift = ops.where(kept, b, a * _SATURATION + b).to(input.dtype)
    return input.mul_(scale).add_(shift) if inplace else input * scale + shift


@export(nn=True, function=True)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of self-normalising networks."""
    _check(p, "alpha_dropout")
    if not training or p == 0:
        return input
    with like(input):
        kept = rand(input.shape) >= p
    return _alpha(input, kept, p, inplace)


@export(nn=True, function=True)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout() of whole channels (dim 1)."""
    _check(p, "feature_alpha_dropout")
    if not training or p == 0:
        return input
    return _alpha(input, _feature_noise(input, p, "feature_alpha_dropout"), p, inplace)
