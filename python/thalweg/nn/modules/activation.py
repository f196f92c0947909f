"""Pointwise non-linearities and the softmax family, each a thin holder of the options of its function."""

from __future__ import annotations

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn.module import Module
from thalweg.nn.modules.function_module import REQUIRED, FunctionModule
from thalweg.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class ReLU(FunctionModule, function="relu", inplace=False):
    """max(0, x), for any shape and real dtype; `inplace` overwrites the input.

    >>> import thalweg as tw
    >>> tw.nn.ReLU()(tw.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """


class ReLU6(FunctionModule, function="relu6", inplace=False):
    """min(max(0, x), 6), for any shape and real dtype."""


class LeakyReLU(FunctionModule, function="leaky_relu", negative_slope=0.01, inplace=False):
    """x where positive, else negative_slope · x."""


class RReLU(FunctionModule, function="rrelu", lower=1.0 / 8, upper=1.0 / 3, inplace=False):
    """LeakyReLU whose slope is drawn uniformly from [lower, upper] in training and is their mean otherwise."""

    def _prepare(self, options):
        if not 0 <= options["lower"] <= options["upper"]:
            raise ValueError(f"RReLU: 0 <= lower <= upper is wanted, got {options['lower']}, {options['upper']}")
        return options

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class ELU(FunctionModule, function="elu", alpha=1.0, inplace=False):
    """x where positive, else alpha (e^x - 1) (Clevert et al., 2015)."""


class CELU(FunctionModule, function="celu", alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha (e^(x / alpha) - 1)) (Barron, 2017)."""


class SELU(FunctionModule, function="selu", inplace=False):
    """ELU scaled so that activations keep zero mean and unit variance (Klambauer et al., 2017)."""


class GELU(FunctionModule, function="gelu", approximate="none"):
    """x Φ(x), Φ the normal distribution function; approximate="tanh" for its tanh form (Hendrycks & Gimpel, 2016).

    >>> import thalweg as tw
    >>> round(tw.nn.GELU()(tw.tensor(1.0)).item(), 4)
    0.8413
    """


class SiLU(FunctionModule, function="silu", inplace=False):
    """x σ(x), also called swish."""


class Mish(FunctionModule, function="mish", inplace=False):
    """x tanh(softplus(x)) (Misra, 2019)."""


class Hardswish(FunctionModule, function="hardswish", inplace=False):
    """x relu6(x + 3) / 6 (Howard et al., 2019)."""


class Hardsigmoid(FunctionModule, function="hardsigmoid", inplace=False):
    """relu6(x + 3) / 6."""


class Hardtanh(FunctionModule, function="hardtanh", min_val=-1.0, max_val=1.0, inplace=False):
    """x clamped to [min_val, max_val]. Errors: ValueError unless min_val < max_val."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        min_val = min_val if min_value is None else min_value  # min_value and max_value are the older names
        max_val = max_val if max_value is None else max_value
        super().__init__(min_val, max_val, inplace)

    def _prepare(self, options):
        if not options["min_val"] < options["max_val"]:
            raise ValueError(f"Hardtanh: min_val < max_val is wanted, got {options['min_val']}, {options['max_val']}")
        return options


class Hardshrink(FunctionModule, function="hardshrink", lambd=0.5):
    """x where |x| > lambd, else 0."""


class Softshrink(FunctionModule, function="softshrink", lambd=0.5):
    """x moved towards 0 by lambd, and 0 where |x| <= lambd."""


class Tanhshrink(FunctionModule, function="tanhshrink"):
    """x - tanh(x)."""


class Softplus(FunctionModule, function="softplus", beta=1.0, threshold=20.0):
    """log(1 + e^(beta x)) / beta, linear where beta x > threshold."""


class Softsign(FunctionModule, function="softsign"):
    """x / (1 + |x|)."""


class Sigmoid(FunctionModule, function="sigmoid"):
    """1 / (1 + e^-x)."""


class LogSigmoid(FunctionModule, function="logsigmoid"):
    """log(1 / (1 + e^-x)), without overflow."""


class Tanh(FunctionModule, function="tanh"):
    """The hyperbolic tangent."""


class Threshold(FunctionModule, function="threshold", threshold=REQUIRED, value=REQUIRED, inplace=False):
    """x where x > threshold, else value."""


class GLU(FunctionModule, function="glu", dim=-1):
    """a σ(b), with a and b the halves of x along `dim`, which must be even (Dauphin et al., 2016)."""


class PReLU(Module):
    """x where positive, else weight · x, with the weight learnt (He et al., 2015).

    Args:
        num_parameters: 1, or the size of dim 1 of the input.
        init: the first value of the weight.

    >>> import thalweg as tw
    >>> tw.nn.PReLU()(tw.tensor([-4.0, 1.0])).tolist()
    [-1.0, 1.0]
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(tw.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Sets the weight to `init`."""
        with tw.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softmax(FunctionModule, function="softmax", dim=None):
    """e^x / Σ e^x along `dim`.

    >>> import thalweg as tw
    >>> tw.nn.Softmax(dim=0)(tw.zeros(2)).tolist()
    [0.5, 0.5]
    """


class Softmin(FunctionModule, function="softmin", dim=None):
    """Softmax of -x along `dim`."""


class LogSoftmax(FunctionModule, function="log_softmax", dim=None):
    """x - log Σ e^x along `dim`, without overflow."""


class Softmax2d(Module):
    """Softmax over the channels of an image: input [N, C, H, W] or [C, H, W]."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: 3 or 4 dims are wanted, got {input.dim()}")
        return F.softmax(input, -3)
