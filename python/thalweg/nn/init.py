"""Filling tensors with first values. Every function works in place, outside the tape, and returns its tensor."""

from __future__ import annotations

import math

import thalweg as tw

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def _fill(method, tensor, *args, generator=None):
    options = {} if generator is None else {"generator": generator}
    with tw.no_grad():
        return getattr(tensor, method)(*args, **options)


def calculate_gain(nonlinearity, param=None):
    """The factor on the standard deviation that keeps the variance through `nonlinearity`.

    Args:
        nonlinearity: "linear", "sigmoid", a convolution's name, "tanh", "relu", "leaky_relu" or "selu".
        param: the slope of leaky_relu, default 0.01.

    >>> import thalweg as tw
    >>> round(tw.nn.init.calculate_gain("relu"), 4)
    1.4142
    """
    ones = {"linear", "sigmoid", *(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3))}
    if nonlinearity in ones:
        return 1.0
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"calculate_gain: the name of a nonlinearity is wanted, got {nonlinearity!r}")
    if isinstance(param, bool) or not (param is None or isinstance(param, (int, float))):
        raise ValueError(f"calculate_gain: a number is wanted as slope, got {param!r}")
    slope = 0.01 if param is None else param
    return math.sqrt(2.0 / (1 + slope**2))


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """U(a, b)."""
    return _fill("uniform_", tensor, a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """N(mean, std²)."""
    return _fill("normal_", tensor, mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """N(mean, std²) cut to [a, b], drawn by inverting the distribution function on a uniform draw.

    >>> import thalweg as tw
    >>> bool((tw.nn.init.trunc_normal_(tw.empty(100), std=3.0).abs() <= 2).all())
    True
    """

    def below(x):
        return (1.0 + math.erf((x - mean) / (std * math.sqrt(2.0)))) / 2.0

    with tw.no_grad():
        _fill("uniform_", tensor, 2 * below(a) - 1, 2 * below(b) - 1, generator=generator)
        return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)


def constant_(tensor, val):
    """`val` everywhere."""
    return _fill("fill_", tensor, val)


def ones_(tensor):
    """1 everywhere."""
    return _fill("fill_", tensor, 1.0)


def zeros_(tensor):
    """0 everywhere."""
    return _fill("zero_", tensor)


def eye_(tensor):
    """The identity, for a matrix: ones on the diagonal, zeros elsewhere."""
    if tensor.dim() != 2:
        raise ValueError(f"eye_: 2 dims are wanted, got {tensor.dim()}")
    with tw.no_grad():
        return tensor.copy_(tw.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor, groups=1):
    """The convolution that returns its input, as far as there are channels: weight of 3 to 5 dims."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"dirac_: 3, 4 or 5 dims are wanted, got {tensor.dim()}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dirac_: groups that divide {tensor.shape[0]} are wanted, got {groups}")
    rows = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with tw.no_grad():
        tensor.zero_()
        for group in range(groups):
            for i in range(min(rows, tensor.shape[1])):
                index = (group * rows + i, i, *centre)
                tensor[index] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs feed an output of this weight [out, in, *kernel], and how many outputs an input feeds."""
    if tensor.dim() < 2:
        raise ValueError(f"fan in and fan out: at least 2 dims are wanted, got {tensor.dim()}")
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """U(-k, k), k = gain sqrt(6 / (fan in + fan out)) (Glorot & Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """N(0, std²), std = gain sqrt(2 / (fan in + fan out)) (Glorot & Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming init: mode 'fan_in' or 'fan_out' is wanted, got {mode!r}")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """U(-k, k), k = gain sqrt(3 / fan) (He et al., 2015); `a` is the slope of leaky_relu."""
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """N(0, std²), std = gain / sqrt(fan) (He et al., 2015); `a` is the slope of leaky_relu."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Orthonormal rows or columns, whichever are fewer, of the tensor as a matrix [dim 0, rest] (Saxe et al., 2013).

    >>> import thalweg as tw
    >>> w = tw.nn.init.orthogonal_(tw.empty(2, 3))
    >>> bool((w @ w.T - tw.eye(2)).abs().max() < 1e-5)
    True
    """
    if tensor.dim() < 2:
        raise ValueError(f"orthogonal_: at least 2 dims are wanted, got {tensor.dim()}")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with tw.no_grad():
        flat = tw.empty((rows, columns), dtype=tensor.dtype, device=tensor.device)
        normal_(flat, generator=generator)
        q = _orthonormal_columns(flat.t() if rows < columns else flat)
        return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


def _orthonormal_columns(matrix):
    """Gram-Schmidt, each column twice, which is enough for orthonormality to rounding (Giraud et al., 2005).

    The factor R of matrix = Q R has a positive diagonal, which makes Q uniform among orthonormal matrices.
    """
    q = matrix.clone()
    for j in range(matrix.shape[1]):
        column, before = q[:, j], q[:, :j]
        for _ in range(2):
            column = column - before @ (before.t() @ column)
        q[:, j] = column / (column * column).sum().sqrt()
    return q


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """N(0, std²) with the fraction `sparsity` of each column zero, for a matrix (Martens, 2010)."""
    if tensor.dim() != 2:
        raise ValueError(f"sparse_: 2 dims are wanted, got {tensor.dim()}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    options = {} if generator is None else {"generator": generator}
    with tw.no_grad():
        normal_(tensor, 0.0, std, generator)
        for column in range(columns):
            tensor[tw.randperm(rows, **options)[:zeros], column] = 0
    return tensor
