"""Random zeroing in training; the identity in evaluation."""

from __future__ import annotations

from thalweg.nn import functional as F
from thalweg.nn.modules.function_module import FunctionModule

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(FunctionModule):
    def _prepare(self, options):
        if not 0 <= options["p"] <= 1:
            raise ValueError(f"{type(self).__name__}: a probability in [0, 1] is wanted, got {options['p']}")
        return options

    def forward(self, input):
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)


class Dropout(_Dropout, function="dropout", p=0.5, inplace=False):
    """Zeroes each element with probability p and scales the others by 1 / (1 - p) (Srivastava et al., 2014).

    >>> import thalweg as tw
    >>> tw.nn.Dropout(0.5).eval()(tw.ones(2)).tolist()
    [1.0, 1.0]
    """


class Dropout1d(_Dropout, function="dropout1d", p=0.5, inplace=False):
    """Zeroes whole channels of [N, C, L] or [C, L]."""


class Dropout2d(_Dropout, function="dropout2d", p=0.5, inplace=False):
    """Zeroes whole channels of [N, C, H, W] or [C, H, W]."""


class Dropout3d(_Dropout, function="dropout3d", p=0.5, inplace=False):
    """Zeroes whole channels of [N, C, D, H, W] or [C, D, H, W]."""


class AlphaDropout(_Dropout, function="alpha_dropout", p=0.5, inplace=False):
    """Dropout that keeps the mean and variance of SELU activations (Klambauer et al., 2017)."""


class FeatureAlphaDropout(_Dropout, function="feature_alpha_dropout", p=0.5, inplace=False):
    """AlphaDropout of whole channels."""
