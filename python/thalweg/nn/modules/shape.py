"""Modules that only rearrange: flatten, unflatten, sliding windows, pixels to channels and back, resizing."""

from __future__ import annotations

from thalweg.nn import functional as F
from thalweg.nn.module import Module
from thalweg.nn.modules.function_module import REQUIRED, FunctionModule

__all__ = [
    "ChannelShuffle", "Flatten", "Fold", "Identity", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Unfold",
    "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip


class Identity(Module):
    """Returns its input; takes and ignores any arguments.

    >>> import thalweg as tw
    >>> tw.nn.Identity(54)(tw.ones(1)).item()
    1.0
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Flatten(Module):
    """Joins the dims from start_dim to end_dim, both included, into one.

    >>> import thalweg as tw
    >>> tuple(tw.nn.Flatten()(tw.ones(2, 3, 4)).shape)
    (2, 12)
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits `dim` into `unflattened_size`, of which one entry may be -1."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"Unflatten: dim must be an int, got {type(dim).__name__}")
        if not isinstance(unflattened_size, (tuple, list)) or not all(isinstance(n, int) for n in unflattened_size):
            raise TypeError(f"Unflatten: a tuple of ints is wanted, got {unflattened_size!r}")
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(FunctionModule, function="unfold", kernel_size=REQUIRED, dilation=1, padding=0, stride=1):
    """Windows of an image as columns: [N, C, H, W] to [N, C · window, windows]."""


class Fold(
    FunctionModule, function="fold", output_size=REQUIRED, kernel_size=REQUIRED, dilation=1, padding=0, stride=1
):
    """Adds columns back into an image, the transpose of Unfold: [N, C · window, windows] to [N, C, H, W]."""


class PixelShuffle(FunctionModule, function="pixel_shuffle", upscale_factor=REQUIRED):
    """[*, C r², H, W] to [*, C, H r, W r] (Shi et al., 2016)."""


class PixelUnshuffle(FunctionModule, function="pixel_unshuffle", downscale_factor=REQUIRED):
    """[*, C, H r, W r] to [*, C r², H, W], the inverse of PixelShuffle."""


class ChannelShuffle(Module):
    """Deals the channels of [N, C, *] out from `groups` piles in turn (Zhang et al., 2017)."""

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        if input.dim() < 3 or input.shape[1] % self.groups:
            raise ValueError(
                f"ChannelShuffle: [N, C, *] with C divisible by {self.groups} is wanted, got {list(input.shape)}"
            )
        return input.unflatten(1, (self.groups, -1)).transpose(1, 2).flatten(1, 2)

    def extra_repr(self):
        return f"groups={self.groups}"


class Upsample(Module):
    """Resizes [N, C, *dims], one to three dims, to `size` or by `scale_factor`.

    Args:
        size, scale_factor: one of them; a number, or one a dim.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: for the linear and cubic modes: corner pixels keep their positions.
        recompute_scale_factor: compute the scale again from the rounded output size.

    >>> import thalweg as tw
    >>> tw.nn.Upsample(scale_factor=2)(tw.tensor([[[1.0, 2.0]]])).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.size = size
        if isinstance(scale_factor, (tuple, list)):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        self.scale_factor = float(scale_factor) if isinstance(scale_factor, int) and scale_factor else scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self):
        by = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{by}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample of images by repeating pixels."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample of images by bilinear interpolation, corners aligned."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
