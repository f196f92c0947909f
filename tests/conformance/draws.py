"""How results that a generator decides are judged, since no seed fixes them across frameworks.

A call *draws* when it names an op of DRAWS and torch's result changes with the seed. Of such a result are compared
the structure, the dtype and what requires a gradient; the support of the distribution (`Draw.holds`); that the same
seed gives the same numbers whatever the strides of the inputs; and the gradient, by finite differences under one seed
(and by torch's values where the gradient does not depend on what was drawn, `Draw.constant_gradient`).
"""

import types
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from .convert import dtype_name, to_numpy
from .sides import THALWEG, TORCH

_ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}


@dataclass(frozen=True)
class Draw:
    """holds(sample, result): None, or in what the result cannot come from the distribution."""

    holds: Callable
    constant_gradient: bool = False


def argument(sample, position, name, default=None):
    """An argument after the input, by place or by name."""
    return sample.args[position] if len(sample.args) > position else sample.kwargs.get(name, default)


def _wide(x):
    array = to_numpy(x)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _parts(x):
    array = _wide(x)
    return np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array


def finite(sample, result):
    return None if np.isfinite(_parts(result)).all() else "support: not finite"


def structure(sample, result):
    """Nothing beyond shape, dtype and gradient: the op is an estimate, or a layer of many draws."""
    return None


def _inside(result, low, high, open_end=True):
    array = _parts(result)
    good = (array >= low) & ((array < high) if open_end else (array <= high))
    return None if good.all() else f"support: {array[~good].flat[0]} is not in [{low}, {high})"


def uniform(sample, result):
    return _inside(result, argument(sample, 0, "from", 0.0), argument(sample, 1, "to", 1.0))


def _whole(result):
    array = _wide(result)
    return None if (array == np.floor(array)).all() else "support: not whole numbers"


def randint(sample, result):
    """randint(high, size) or randint(low, high, size); the first number is the database's `input`."""
    wide = len(sample.args) > 1
    low, high = (sample.input, sample.args[0]) if wide else (0, sample.input)
    return _inside(result, low, high) or _whole(result)


def randint_like(sample, result):
    low, high = (*sample.args, None)[:2]
    low, high = (0, low) if high is None else (low, high)
    return _inside(result, low, high) or _whole(result)


def positive(sample, result):
    return finite(sample, result) or (None if (_parts(result) >= 0).all() else "support: negative numbers")


def multinomial(sample, result):
    """Indices in range, of positive weight, and different ones unless replacement is allowed."""
    weights, drawn = to_numpy(sample.input), to_numpy(result)
    if ((drawn < 0) | (drawn >= weights.shape[-1])).any():
        return "support: an index out of range"
    if not (np.take_along_axis(weights, drawn, -1) > 0).all():
        return "support: an index whose weight is zero"
    rows = drawn.reshape(-1, drawn.shape[-1])
    if not argument(sample, 1, "replacement", False) and any(len(set(row)) < len(row) for row in rows.tolist()):
        return "support: an index twice, without replacement"
    return None


def bernoulli(sample, result):
    array = _wide(result)
    return None if np.isin(array, (0, 1)).all() else "support: other numbers than 0 and 1"


def dropout(sample, result):
    """Every element is 0 or the input's divided by 1 - p."""
    x, y = _wide(sample.input), _wide(result)
    p = argument(sample, 0, "p", 0.5)
    tolerance = _ROUNDING[dtype_name(result.dtype)]
    kept = np.abs(y - x / (1 - p)) <= tolerance * (1 + np.abs(y)) if p < 1 else np.zeros(x.shape, bool)
    return None if (kept | (y == 0)).all() else "support: an element is neither 0 nor input / (1 - p)"


def _channels(batched_rank):
    def holds(sample, result):
        """dropout(), and a channel is dropped or kept whole."""
        message = dropout(sample, result)
        if message:
            return message
        unbatched = result.ndim == batched_rank - 1
        dropped = (_wide(result) == 0) & (_wide(sample.input) != 0)
        lost = dropped.reshape(*result.shape[: 1 if unbatched else 2], -1)
        some, every = lost.any(-1), (lost | (_wide(sample.input) == 0).reshape(lost.shape)).all(-1)
        return None if (some <= every).all() else "support: a channel is dropped in part"

    return holds


def rrelu(sample, result):
    """The input where it is positive, else the input times a slope in [lower, upper]."""
    x, y = _wide(sample.input), _wide(result)
    low, high = argument(sample, 0, "lower", 1 / 8), argument(sample, 1, "upper", 1 / 3)
    slack = _ROUNDING[dtype_name(result.dtype)] * (1 + np.abs(x))
    good = np.where(x >= 0, y == x, (y <= low * x + slack) & (y >= high * x - slack))
    return None if good.all() else "support: a slope outside [lower, upper]"


def attention(sample, result):
    """The result is the product of the values with torch's weights, each 0 or divided by 1 - p.

    Which weights were dropped shows when the same draws are made with the identity for values.
    """
    value = sample.args[1]
    p, kwargs = sample.kwargs["dropout_p"], dict(sample.kwargs)
    eye = torch.eye(value.shape[-2], dtype=value.dtype).expand(*value.shape[:-1], value.shape[-2])
    probe = type(sample)(sample.input, args=(sample.args[0], eye, *sample.args[2:]), kwargs=kwargs)
    input, args, kwargs, _ = THALWEG.inputs(probe)
    weights = _wide(THALWEG.call(THALWEG.target(torch.nn.functional.scaled_dot_product_attention), input, args, kwargs))
    input, args, kwargs, _ = TORCH.inputs(probe)
    kwargs["dropout_p"] = 0.0
    whole = _wide(TORCH.call(torch.nn.functional.scaled_dot_product_attention, input, args, kwargs)) / (1 - p)
    tolerance = _ROUNDING[dtype_name(value.dtype)]
    if not ((np.abs(weights - whole) <= tolerance * (1 + whole)) | (weights == 0)).all():
        return "support: a weight is neither 0 nor softmax / (1 - p)"
    values = _wide(value)
    if values.ndim > 2 and values.shape[-3] != weights.shape[-3]:
        values = np.repeat(values, weights.shape[-3] // values.shape[-3], -3)
    want = weights @ values
    slack = tolerance * (1 + np.abs(weights) @ np.abs(values))
    return None if (np.abs(_wide(result) - want) <= slack).all() else "value: not the dropped weights times the values"


_NN = "nn.functional."
DRAWS = {
    "normal": Draw(finite, constant_gradient=True),
    "uniform": Draw(uniform, constant_gradient=True),
    "cauchy": Draw(finite),
    "log_normal": Draw(positive),
    "exponential": Draw(positive),
    "geometric": Draw(positive),
    "randn": Draw(finite),
    "randn_like": Draw(finite),
    "rand_like": Draw(finite),  # the database calls randn_like under this name
    "randint": Draw(randint),
    "randint_like": Draw(randint_like),
    "multinomial": Draw(multinomial),
    "bernoulli": Draw(bernoulli, constant_gradient=True),
    _NN + "dropout": Draw(dropout),
    _NN + "dropout2d": Draw(_channels(-1)),
    _NN + "dropout3d": Draw(_channels(5)),
    _NN + "alpha_dropout": Draw(finite),
    _NN + "feature_alpha_dropout": Draw(finite),
    _NN + "rrelu": Draw(rrelu),
    _NN + "fractional_max_pool2d": Draw(structure),
    _NN + "fractional_max_pool3d": Draw(structure),
    _NN + "scaled_dot_product_attention": Draw(attention),
    _NN + "multi_head_attention_forward": Draw(structure),
    "pca_lowrank": Draw(structure),
    "svd_lowrank": Draw(structure),
}


def unseeded(fn):
    """A function of the database without the seed that it may set around the call."""
    if not isinstance(fn, types.FunctionType) or "wrapper_set_seed" not in fn.__code__.co_names:
        return fn
    scope = dict(fn.__globals__, wrapper_set_seed=lambda op, *args, **kwargs: op(*args, **kwargs))
    return types.FunctionType(fn.__code__, scope, fn.__name__, fn.__defaults__, fn.__closure__)
