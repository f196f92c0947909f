"""Convolutions and transposed convolutions over one, two and three dims."""

from __future__ import annotations

import math

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn import init
from thalweg.nn.module import Module
from thalweg.nn.modules.lazy import LazyModule, UninitializedParameter
from thalweg.nn.parameter import Parameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
    "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def as_tuple(value, dims):
    """`value` for each of `dims` dims: an int is repeated, a sequence is taken as it is."""
    return (value,) * dims if isinstance(value, int) else tuple(value)


class _ConvBase(Module):
    _dims: int
    _transposed = False

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias,
        padding_mode, device, dtype,
    ):  # fmt: skip
        super().__init__()
        dims = self._dims
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = (as_tuple(v, dims) for v in (kernel_size, stride, dilation))
        self.padding = padding if isinstance(padding, str) else as_tuple(padding, dims)
        self.output_padding = as_tuple(output_padding, dims)
        self.padding_mode = padding_mode
        self._check()
        self._make_parameters(bias, device, dtype)
        # For F.pad, which wants the last dim first: how much the modes other than "zeros" add on each side.
        self._pad_sides = [side for pads in reversed(self._padding_by_dim()) for side in pads]

    def _make_parameters(self, bias, device, dtype):
        shapes = self._parameter_shapes()
        self.weight = Parameter(tw.empty(shapes["weight"], device=device, dtype=dtype))
        bias = Parameter(tw.empty(shapes["bias"], device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", bias)
        self.reset_parameters()

    def _parameter_shapes(self):
        rows, columns = self.out_channels, self.in_channels
        if self._transposed:
            rows, columns = columns, rows
        return {"weight": (rows, columns // self.groups, *self.kernel_size), "bias": (self.out_channels,)}

    def _check(self):
        name = type(self).__name__
        if self.groups <= 0 or self.in_channels % self.groups or self.out_channels % self.groups:
            channels = f"{self.in_channels} and {self.out_channels} channels, {self.groups} groups"
            raise ValueError(f"{name}: positive groups that divide both channels are wanted, got {channels}")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"{name}: padding 'same', 'valid' or numbers are wanted, got {self.padding!r}")
            if self.padding == "same" and any(stride != 1 for stride in self.stride):
                raise ValueError(f"{name}: padding 'same' wants stride 1, got {self.stride}")
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(f"{name}: a padding_mode of {_PADDING_MODES} is wanted, got {self.padding_mode!r}")
        if self._transposed and self.padding_mode != "zeros":
            raise ValueError(f"{name}: padding_mode 'zeros' is wanted, got {self.padding_mode!r}")

    def _padding_by_dim(self):
        if self.padding == "valid":
            return [(0, 0)] * self._dims
        if self.padding == "same":  # an odd total has its larger half on the right
            totals = [dilation * (size - 1) for dilation, size in zip(self.dilation, self.kernel_size)]
            return [(total // 2, total - total // 2) for total in totals]
        return [(size, size) for size in self.padding]

    def reset_parameters(self):
        """Draws weight and bias from U(-k, k), k = 1 / sqrt(fan in)."""
        fan_in = self.weight.shape[1] * math.prod(self.kernel_size)
        bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
        for parameter in self.parameters(recurse=False):
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        defaults = {
            "padding": (0,) * self._dims,
            "dilation": (1,) * self._dims,
            "output_padding": (0,) * self._dims,
            "groups": 1,
        }
        text += "".join(f", {n}={getattr(self, n)!r}" for n, default in defaults.items() if getattr(self, n) != default)
        text += "" if self.bias is not None else ", bias=False"
        return text + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}")


class _Conv(_ConvBase):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._pad_sides, mode=self.padding_mode)
            padding = 0
        conv = getattr(F, self._function)
        return conv(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Cross-correlation over the last dim: [N, C_in, L] or [C_in, L] to [N, C_out, L_out] or [C_out, L_out].

    Args:
        in_channels, out_channels: C_in and C_out.
        kernel_size, stride, dilation: an int, or one a dim.
        padding: an int, or one a dim, on both sides; "same" (stride 1) keeps the size, "valid" is 0.
        groups: channels are cut into this many independent groups; it divides both channels.
        bias: learn an additive bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    Weight [C_out, C_in / groups, *kernel_size] and bias [C_out] are drawn from U(-k, k), k = 1 / sqrt(fan in).

    Errors: ValueError for groups that do not divide the channels, an unknown mode, an input of other channels.

    >>> import thalweg as tw
    >>> tuple(tw.nn.Conv1d(3, 8, kernel_size=5, padding="same")(tw.ones(2, 3, 10)).shape)
    (2, 8, 10)
    """

    _dims, _function = 1, "conv1d"


class Conv2d(_Conv):
    """Conv1d over the last two dims.

    >>> import thalweg as tw
    >>> tuple(tw.nn.Conv2d(3, 8, 3, stride=2, padding=1)(tw.ones(2, 3, 10, 10)).shape)
    (2, 8, 5, 5)
    """

    _dims, _function = 2, "conv2d"


class Conv3d(_Conv):
    """Conv1d over the last three dims."""

    _dims, _function = 3, "conv3d"


class _ConvTranspose(_ConvBase):
    _transposed = True

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input, output_size=None):
        output_padding = self.output_padding if output_size is None else self._output_padding_for(input, output_size)
        conv = getattr(F, self._function)
        return conv(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding_for(self, input, output_size):
        """The output padding that makes the result's spatial size `output_size`."""
        dims = self._dims
        output_size = tuple(output_size)
        if len(output_size) == input.dim():
            output_size = output_size[-dims:]
        if len(output_size) != dims:
            raise ValueError(f"{type(self).__name__}: {dims} output sizes are wanted, got {output_size}")
        smallest = [
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            for size, stride, padding, dilation, kernel in zip(
                input.shape[-dims:], self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        for size, least, stride in zip(output_size, smallest, self.stride):
            if not least <= size <= least + stride - 1:
                largest = [low + step - 1 for low, step in zip(smallest, self.stride)]
                raise ValueError(
                    f"{type(self).__name__}: an output size from {smallest} to {largest} is wanted, got {output_size}"
                )
        return tuple(size - least for size, least in zip(output_size, smallest))


class ConvTranspose1d(_ConvTranspose):
    """The transpose of Conv1d, as a map of its own: [N, C_in, L] to [N, C_out, (L - 1) stride - 2 padding + ...].

    Args:
        output_padding: added to one side of the output size, smaller than stride or dilation.
        the others: as for Conv1d; padding_mode is "zeros".

    The call takes an output_size, from which output_padding is found. Weight [C_in, C_out / groups, *kernel_size].

    >>> import thalweg as tw
    >>> tuple(tw.nn.ConvTranspose1d(8, 3, 4, stride=2, padding=1)(tw.ones(2, 8, 5)).shape)
    (2, 3, 10)
    """

    _dims, _function = 1, "conv_transpose1d"


class ConvTranspose2d(_ConvTranspose):
    """ConvTranspose1d over the last two dims."""

    _dims, _function = 2, "conv_transpose2d"


class ConvTranspose3d(_ConvTranspose):
    """ConvTranspose1d over the last three dims."""

    _dims, _function = 3, "conv_transpose3d"


class _LazyConv(LazyModule):
    """A convolution without its first argument, in_channels, which the first input gives."""

    def __init__(self, *args, **kwargs):
        super().__init__(0, *args, **kwargs)

    def _make_parameters(self, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.register_parameter("bias", UninitializedParameter(device=device, dtype=dtype) if bias else None)

    def _shapes(self, input, output_size=None):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            wanted = f"{self._dims + 1} or {self._dims + 2} dims are wanted"
            raise ValueError(f"{type(self).__name__}: {wanted}, got {input.dim()}")
        self.in_channels = input.shape[-self._dims - 1]
        self._check()
        return self._parameter_shapes()


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d that learns in_channels from its first input."""

    _becomes = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d that learns in_channels from its first input.

    >>> import thalweg as tw
    >>> tuple(tw.nn.LazyConv2d(8, 3)(tw.ones(1, 4, 5, 5)).shape)
    (1, 8, 3, 3)
    """

    _becomes = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d that learns in_channels from its first input."""

    _becomes = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d that learns in_channels from its first input."""

    _becomes = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d that learns in_channels from its first input."""

    _becomes = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d that learns in_channels from its first input."""

    _becomes = ConvTranspose3d
