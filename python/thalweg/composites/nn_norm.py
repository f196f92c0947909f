"""Normalisation with running statistics, and over neighbouring channels."""

from collections.abc import Sequence
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.autograd.modes import no_grad
from thalweg.composites.support import is_inexact
from thalweg.frontend.dtypes import finfo, float32

__all__ = ["batch_norm", "instance_norm", "local_response_norm", "rms_norm"]


def _update(running: Tensor | None, batch: Tensor, momentum: float) -> None:
    if running is not None:
        running.lerp_(batch.to(running.dtype), momentum)


def _per_channel(value: Tensor, like: Tensor) -> Tensor:
    return value.reshape([1, -1] + [1] * (like.ndim - 2))


def _apply_running(
    input: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """(input - mean) / √(var + eps) · weight + bias, as one multiplication and one addition an element."""
    if input.ndim < 2 or mean.numel() != input.shape[1]:
        raise RuntimeError(
            f"batch_norm: running_mean must have one element for each of the channels of shape "
            f"{list(input.shape)}, got {mean.numel()}"
        )
    wide = input.dtype if input.dtype.itemsize > 2 else float32
    mean, var = mean.to(wide), var.to(wide)
    scale = ops.rsqrt(var + eps)
    if weight is not None:
        scale = scale * weight
    shift = ops.neg(mean * scale)
    if bias is not None:
        shift = shift + bias
    out = ops.addcmul(_per_channel(shift, input).to(wide), input.to(wide), _per_channel(scale, input).to(wide))
    return out.to(input.dtype)


def _batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    if not input.numel():  # no statistics to take or to move; one dim without channels passes, too
        if input.ndim == 1:
            return input.clone()
        out = input.clone() if weight is None else input * _per_channel(weight, input)
        return out if bias is None else out + _per_channel(bias, input)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: evaluation needs running_mean and running_var")
        return _apply_running(input, running_mean, running_var, weight, bias, eps)
    result, mean, _, unbiased = ops.batch_norm_train(input, weight, bias, eps)
    with no_grad():
        for running, batch in ((running_mean, mean), (running_var, unbiased)):
            if running is not None and running.shape != batch.shape:
                raise RuntimeError(
                    f"batch_norm: running statistics must have the shape {list(batch.shape)}, got {list(running.shape)}"
                )
            _update(running, batch, momentum)
    return result


@export(nn=True)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel (dim 1) over all other dims, by the batch's statistics or, outside of training, by
    the running ones. In training these move towards the batch's by the factor momentum, in place."""
    if eps < 0 or (training and eps == 0):
        raise ValueError(
            f"batch_norm: eps must {'be positive in training' if training else 'not be negative'}, got {eps}"
        )
    if training and input.ndim >= 2 and input.numel() == input.shape[1]:
        raise ValueError(
            f"batch_norm: more than one value per channel is needed in training, got shape {list(input.shape)}"
        )
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@export(function=True, name="batch_norm")
def batch_norm_function(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """nn.functional.batch_norm with the arguments in the order of torch.batch_norm."""
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@export(nn=True)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of each sample over the dims after it."""
    if input.ndim < 2:
        raise RuntimeError(f"instance_norm: at least two dims are wanted, got shape {list(input.shape)}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("instance_norm: without use_input_stats, running_mean and running_var are needed")
        return _apply_running(input, running_mean, running_var, weight, bias, eps)
    spatial = input.numel() // (input.shape[0] * input.shape[1]) if input.numel() else 0
    if spatial == 1:
        raise ValueError(f"instance_norm: more than one element per channel is needed, got shape {list(input.shape)}")
    if running_mean is not None or running_var is not None:
        with no_grad():
            var, mean = ops.moments(input.detach(), list(range(2, input.ndim)), 1.0)
            _update(running_mean, ops.mean(mean, 0), momentum)
            _update(running_var, ops.mean(var, 0), momentum)
    return ops.group_norm(input, input.shape[1], weight, bias, eps)


@export(nn=True, function=True)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Scales each block of the last dims to a mean square of 1, then applies weight. Zhang and Sennrich, 2019.

    The square of a complex number is its own, not that of its size. eps is by default that of the dtype.

    >>> import thalweg as tw
    >>> tw.nn.functional.rms_norm(tw.tensor([3.0, 3.0]), [2], eps=0.0)
    tensor([1., 1.])
    """
    if not input.dtype.is_complex:
        return ops.rms_norm(input, normalized_shape, weight, eps)
    shape = list(normalized_shape)
    if not shape or list(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(f"rms_norm: an input whose last dims are {shape} is wanted, got {list(input.shape)}")
    dims = list(range(-len(shape), 0))
    eps = finfo(input.dtype).eps if eps is None else eps
    scaled = input * ops.rsqrt(ops.mean(input * input, dims, True) + eps)
    return scaled if weight is None else scaled * weight


@export(nn=True)
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """input / (k + alpha · mean of the squares of `size` neighbouring channels)^beta."""
    if input.ndim < 3:
        raise ValueError(f"local_response_norm: at least three dims are wanted, got shape {list(input.shape)}")
    if not input.numel():
        return input
    # Sums of windows along the channels, as differences would lose digits: `size` shifted additions.
    squares = input * input
    channels = input.shape[1]
    total: Any = None
    for offset in range(-(size // 2), (size - 1) // 2 + 1):
        first, last = (offset, channels) if offset > 0 else (0, channels + offset)
        if first >= last:
            continue
        part = squares.narrow(1, first, last - first)
        shifted = ops.slice_scatter_zeros(part, list(input.shape), 1, first - offset, last - offset, 1)
        total = shifted if total is None else total + shifted
    mean = total / size if is_inexact(total.dtype) else total // size
    return input / ops.pow(mean * alpha + k, beta)
