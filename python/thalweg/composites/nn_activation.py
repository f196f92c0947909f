"""Activations that take inplace=, and those written with other ops."""

from collections.abc import Callable

from thalweg._core._tensor import Tensor, op
from thalweg._registry import export, ops
from thalweg.frontend.creation import empty_like, zeros_like

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _apply(name: str, input: Tensor, inplace: bool, *numbers: float) -> Tensor:
    return op(name, inplace)(input, *numbers)


def _inplace_form(function: Callable) -> None:
    """Exports name_ in nn.functional, which writes into its input."""

    def inplace_form(input: Tensor, *args: object, **kwargs: object) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    inplace_form.__name__ = function.__name__ + "_"
    inplace_form.__doc__ = f"{function.__name__} in place."
    export(nn=True)(inplace_form)


@export(nn=True)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0), element by element.

    >>> import thalweg as tw
    >>> tw.nn.functional.relu(tw.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _apply("relu", input, inplace)


@export(nn=True)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input` where it is above the threshold, else `value`."""
    return _apply("threshold", input, inplace, threshold, value)


@export(nn=True)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be above max_val, got {min_val} and {max_val}")
    return _apply("hardtanh", input, inplace, min_val, max_val)


@export(nn=True)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` limited to [0, 6]."""
    return _apply("hardtanh", input, inplace, 0.0, 6.0)


@export(nn=True)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else negative_slope * input."""
    return _apply("leaky_relu", input, inplace, negative_slope)


@export(nn=True)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, else alpha (exp(input) - 1). Clevert et al., arXiv:1511.07289."""
    return _apply("elu_of", input, inplace, alpha)


@export(function=True, nn=True)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the scale and alpha that keep mean 0 and variance 1. Klambauer et al., arXiv:1706.02515."""
    return _apply("elu_of", input, inplace, _SELU_ALPHA, _SELU_SCALE)


@export(function=True, nn=True)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, input) + min(0, alpha (exp(input / alpha) - 1)). Barron, arXiv:1704.07483.

    Raises:
        RuntimeError: alpha is 0.
    """
    if alpha == 0:
        raise RuntimeError("celu: alpha must not be 0")
    return _apply("elu_of", input, inplace, alpha, 1.0, 1.0 / alpha)


@export(nn=True)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    if input.dtype.is_complex:
        return input.mul_(input.sigmoid()) if inplace else input * input.sigmoid()
    return _apply("silu", input, inplace)


@export(nn=True)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input)). Misra, arXiv:1908.08681."""
    return _apply("mish", input, inplace)


@export(nn=True)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * relu6(input + 3) / 6. Howard et al., arXiv:1905.02244."""
    return _apply("hardswish", input, inplace)


@export(nn=True)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(input + 3) / 6."""
    return _apply("hardsigmoid", input, inplace)


@export(function=True, nn=True)
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu with slopes drawn from [lower, upper) in training, and their mean otherwise."""
    if lower > upper:
        raise ValueError(f"rrelu: lower must not be above upper, got {lower} and {upper}")
    if not training:
        return _apply("leaky_relu", input, inplace, (lower + upper) / 2)
    slopes = ops.uniform(input.detach(), lower, upper)
    return op("prelu_of", inplace)(input, slopes)


for _function in (celu, elu, hardtanh, leaky_relu, relu, rrelu, selu, threshold):
    _inplace_form(_function)


@export(function=True, method=True, nn=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where it is positive, else weight * input; a weight for all or for each channel (dim 1).

    Raises:
        RuntimeError: a number of weights that is neither 1 nor that of the channels; dtypes that differ.
    """
    if not isinstance(weight, Tensor):
        raise TypeError(f"prelu: weight must be a Tensor, got {type(weight).__name__}")
    if weight.dtype != input.dtype:
        raise RuntimeError(f"prelu: the dtypes must agree, got {input.dtype} and {weight.dtype}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: weight must have 0 or 1 dims, got shape {tuple(weight.shape)}")
    if weight.numel() != 1:
        if input.ndim == 0:
            raise RuntimeError("prelu: a 0-dim input has no channels for several weights")
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(f"prelu: {channels} weights are wanted, one a channel, got {weight.numel()}")
        weight = weight.reshape([-1] + [1] * (input.ndim - 2))
    elif weight.ndim and not input.ndim:
        weight = weight.reshape([])
    return ops.prelu_of(input, weight)


@export(nn=True)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b), a and b being the halves of `input` along `dim`. Dauphin et al., arXiv:1612.08083."""
    if input.ndim == 0:
        raise RuntimeError("glu: a 0-dim tensor has no halves")
    size = input.size(dim)
    if size % 2:
        raise RuntimeError(f"glu: the size of dim {dim} must be even, got {size}")
    return input.narrow(dim, 0, size // 2) * input.narrow(dim, size // 2, size // 2).sigmoid()


@export(nn=True)
def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (input.abs() + 1)


@export(nn=True)
def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    return input - input.tanh()


@export(nn=True)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the relaxed categorical distribution of these logits (Jang, Gu & Poole, 2017).

    Args:
        logits: unnormalised log-probabilities along dim.
        tau: the temperature; the lower, the closer to one-hot.
        hard: the one-hot sample, with the gradient of the relaxed one.
        eps: accepted and ignored.

    >>> import thalweg as tw
    >>> tw.nn.functional.gumbel_softmax(tw.zeros(3, 5), hard=True).sum(-1)
    tensor([1., 1., 1.])
    """
    noise = -empty_like(logits).exponential_().log()
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    return zeros_like(soft).scatter(dim, index, 1.0) - soft.detach() + soft
