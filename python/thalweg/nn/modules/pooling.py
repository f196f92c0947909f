"""Pooling over windows. A size is an int, or one int a spatial dim; the input is [N, C, *dims] or [C, *dims]."""

from __future__ import annotations

from thalweg.nn.modules.function_module import REQUIRED, FunctionModule

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _Pool(FunctionModule):
    """A pool whose stride is by default its kernel size."""

    def _prepare(self, options):
        if options["stride"] is None:
            options["stride"] = options["kernel_size"]
        return options


_MAX = {
    "kernel_size": REQUIRED,
    "stride": None,
    "padding": 0,
    "dilation": 1,
    "return_indices": False,
    "ceil_mode": False,
}
_AVG = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
_LP = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}


class MaxPool1d(_Pool, function="max_pool1d", **_MAX):
    """The largest element of each window; with return_indices also its flat position, for MaxUnpool1d.

    Args:
        kernel_size, stride, padding, dilation: as in a convolution; the stride is by default the kernel size.
        return_indices: return (values, indices).
        ceil_mode: round the output size up, so that windows may begin in the padding on the right.

    >>> import thalweg as tw
    >>> tw.nn.MaxPool1d(2)(tw.tensor([[1.0, 3.0, 2.0, 0.0]])).tolist()
    [[3.0, 2.0]]
    """


class MaxPool2d(_Pool, function="max_pool2d", **_MAX):
    """MaxPool1d over two dims."""


class MaxPool3d(_Pool, function="max_pool3d", **_MAX):
    """MaxPool1d over three dims."""


class AvgPool1d(_Pool, function="avg_pool1d", **_AVG):
    """The mean of each window.

    Args:
        kernel_size, stride, padding: as in a convolution; the stride is by default the kernel size.
        ceil_mode: round the output size up.
        count_include_pad: count the zeros of the padding in the mean.

    >>> import thalweg as tw
    >>> tw.nn.AvgPool1d(2)(tw.tensor([[1.0, 3.0, 2.0, 0.0]])).tolist()
    [[2.0, 1.0]]
    """


class AvgPool2d(_Pool, function="avg_pool2d", **_AVG, divisor_override=None):
    """AvgPool1d over two dims; divisor_override replaces the number of elements in the mean."""


class AvgPool3d(_Pool, function="avg_pool3d", **_AVG, divisor_override=None):
    """AvgPool1d over three dims; divisor_override replaces the number of elements in the mean."""


class LPPool1d(_Pool, function="lp_pool1d", **_LP):
    """(Σ x^norm_type)^(1 / norm_type) of each window."""


class LPPool2d(_Pool, function="lp_pool2d", **_LP):
    """LPPool1d over two dims."""


class LPPool3d(_Pool, function="lp_pool3d", **_LP):
    """LPPool1d over three dims."""


class AdaptiveAvgPool1d(FunctionModule, function="adaptive_avg_pool1d", output_size=REQUIRED):
    """Means of windows cut so that the output has `output_size` elements."""


class AdaptiveAvgPool2d(FunctionModule, function="adaptive_avg_pool2d", output_size=REQUIRED):
    """AdaptiveAvgPool1d over two dims; None keeps a dim's size.

    >>> import thalweg as tw
    >>> tuple(tw.nn.AdaptiveAvgPool2d((2, None))(tw.ones(1, 4, 3)).shape[1:])
    (2, 3)
    """


class AdaptiveAvgPool3d(FunctionModule, function="adaptive_avg_pool3d", output_size=REQUIRED):
    """AdaptiveAvgPool1d over three dims; None keeps a dim's size."""


class AdaptiveMaxPool1d(FunctionModule, function="adaptive_max_pool1d", output_size=REQUIRED, return_indices=False):
    """Maxima of windows cut so that the output has `output_size` elements."""


class AdaptiveMaxPool2d(FunctionModule, function="adaptive_max_pool2d", output_size=REQUIRED, return_indices=False):
    """AdaptiveMaxPool1d over two dims; None keeps a dim's size."""


class AdaptiveMaxPool3d(FunctionModule, function="adaptive_max_pool3d", output_size=REQUIRED, return_indices=False):
    """AdaptiveMaxPool1d over three dims; None keeps a dim's size."""


_UNPOOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0}


class MaxUnpool1d(_Pool, function="max_unpool1d", **_UNPOOL):
    """Puts each value back where MaxPool1d found it, zeros elsewhere; inputs: values, indices, output_size=None."""


class MaxUnpool2d(_Pool, function="max_unpool2d", **_UNPOOL):
    """MaxUnpool1d over two dims."""


class MaxUnpool3d(_Pool, function="max_unpool3d", **_UNPOOL):
    """MaxUnpool1d over three dims."""
