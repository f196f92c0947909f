"""Images at other sizes: interpolate, pixel and channel shuffles, unfold and fold."""

import math
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import NN_FUNCTIONS, export, ops
from thalweg.composites.antialias import resample_antialiased
from thalweg.composites.nn_conv import per_dim

__all__ = [
    "channel_shuffle", "fold", "interpolate", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

# Modes that interpolate, by how many spatial dims they are for.
_SMOOTH = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def _per_dim(value: Any, dims: int, name: str) -> list:
    if not isinstance(value, (tuple, list)):
        return [value] * dims
    if len(value) != dims:
        raise ValueError(f"interpolate: {name} of one number or {dims} is wanted, got {value}")
    return list(value)


@export(nn=True)
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """The spatial dims of [N, C, *D] at another size.

    Args:
        size or scale_factor: the new size, or its ratio to the old; a number or one a dim.
        mode: "nearest", "nearest-exact", "linear" (3 dims), "bilinear", "bicubic" (4), "trilinear" (5), "area".
        align_corners: the corners' centres stay where they are (smooth modes only).
        recompute_scale_factor: positions follow from the sizes, not from scale_factor.
        antialias: every old pixel counts where the image shrinks ("bilinear" and "bicubic" only).

    Raises:
        ValueError: a mode that does not fit the number of dims; both or none of size and scale_factor.

    >>> import thalweg as tw
    >>> tw.nn.functional.interpolate(tw.tensor([[[1.0, 2.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """
    dims = input.dim() - 2
    if not 1 <= dims <= 3:
        raise ValueError(f"interpolate: an input of 3 to 5 dims is wanted, got shape {list(input.shape)}")
    if mode not in (*_SMOOTH, "nearest", "nearest-exact", "area"):
        raise ValueError(f"interpolate: mode {mode!r} is not known")
    if mode in _SMOOTH and _SMOOTH[mode] != dims:
        raise NotImplementedError(f"interpolate: mode {mode!r} wants {_SMOOTH[mode] + 2} dims, got {dims + 2}")
    if align_corners is not None and mode not in _SMOOTH:
        raise ValueError(f"interpolate: align_corners goes with smooth modes only, got mode {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: antialias goes with modes bilinear and bicubic, got {mode!r}")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: one of size and scale_factor is wanted")
    scales: list = []
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("interpolate: recompute_scale_factor goes with scale_factor, not with size")
        sizes = [int(s) for s in _per_dim(size, dims, "size")]
    else:
        scales = [float(s) for s in _per_dim(scale_factor, dims, "scale_factor")]
        sizes = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales)]
        if recompute_scale_factor:
            scales = []
    if mode == "area":
        return NN_FUNCTIONS[f"adaptive_avg_pool{dims}d"](input, sizes)
    if min(sizes) <= 0 or (antialias and 0 in input.shape[2:]):
        raise RuntimeError(f"interpolate: sizes above 0 are wanted, got {list(input.shape[2:])} to {sizes}")
    if antialias:
        return resample_antialiased(input, sizes, mode, bool(align_corners), scales)
    kind = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return ops.resample(input, sizes, kind, bool(align_corners), scales)


@export(nn=True)
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@export(nn=True)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with mode "nearest"."""
    return interpolate(input, size, scale_factor, "nearest")


@export(nn=True)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with mode "bilinear" and align_corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


@export(function=True, nn=True)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., C · r², H, W] to [..., C, H · r, W · r]: r² channels become a block of r x r pixels."""
    r = upscale_factor
    if input.dim() < 3 or r <= 0 or input.shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle: at least 3 dims and channels that {r}² divides are wanted, got shape {list(input.shape)}"
        )
    *lead, channels, height, width = input.shape
    blocks = input.reshape([*lead, channels // (r * r), r, r, height, width])
    n = len(lead)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return blocks.permute(order).reshape([*lead, channels // (r * r), height * r, width * r])


@export(function=True, nn=True)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., C, H · r, W · r] to [..., C · r², H, W]: the inverse of pixel_shuffle."""
    r = downscale_factor
    if input.dim() < 3 or r <= 0 or input.shape[-2] % r or input.shape[-1] % r:
        raise RuntimeError(
            f"pixel_unshuffle: at least 3 dims, the last two multiples of {r}, are wanted, "
            f"got shape {list(input.shape)}"
        )
    *lead, channels, height, width = input.shape
    blocks = input.reshape([*lead, channels, height // r, r, width // r, r])
    n = len(lead)
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return blocks.permute(order).reshape([*lead, channels * r * r, height // r, width // r])


@export(function=True, nn=True)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """[N, g · C, *D] with the channels of the groups taken in turn."""
    if input.dim() < 3 or groups <= 0 or input.shape[1] % groups:
        raise RuntimeError(
            f"channel_shuffle: at least 3 dims and channels that {groups} groups divide are wanted, got shape "
            f"{list(input.shape)}"
        )
    batch, channels, *rest = input.shape
    grouped = input.reshape([batch, groups, channels // groups, *rest])
    return grouped.transpose(1, 2).reshape([batch, channels, *rest])


@export(nn=True)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of [N, C, H, W] (or [C, H, W]) as columns: [N, C · K, P]."""
    if input.dim() not in (3, 4):
        raise RuntimeError(f"unfold: an input with 3 or 4 dims is wanted, got shape {list(input.shape)}")
    values = ((kernel_size, "kernel_size"), (dilation, "dilation"), (padding, "padding"), (stride, "stride"))
    window = [per_dim(value, 2, name, "unfold") for value, name in values]
    columns = ops.unfold_columns(input if input.dim() == 4 else input.unsqueeze(0), *window)
    return columns if input.dim() == 4 else columns.squeeze(0)


@export(nn=True)
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns [N, C · K, P] (or [C · K, P]) added into images of output_size: the transpose of unfold."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"fold: an input with 2 or 3 dims is wanted, got shape {list(input.shape)}")
    values = (
        (output_size, "output_size"),
        (kernel_size, "kernel_size"),
        (dilation, "dilation"),
        (padding, "padding"),
        (stride, "stride"),
    )
    window = [per_dim(value, 2, name, "fold") for value, name in values]
    images = ops.fold_columns(input if input.dim() == 3 else input.unsqueeze(0), *window)
    return images if input.dim() == 3 else images.squeeze(0)
