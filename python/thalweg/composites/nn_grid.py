"""grid_sample and affine_grid: images read at given positions, written with other ops.

Positions are in [-1, 1] over the image, x (the last dim) first. A sample is a sum over taps: the product of one weight
a dim, times the pixel there. All of it is differentiable, to any order.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from thalweg._core._tensor import Tensor, dtype, dtype_by_name
from thalweg._registry import FUNCTIONS, export, ops
from thalweg.frontend.global_creation import beside

__all__ = ["affine_grid", "grid_sample"]

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@export(function=True, nn=True)
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Reads [N, C, H, W] (or [N, C, D, H, W]) at grid [N, H', W', 2] (or [N, D', H', W', 3]): [N, C, H', W'].

    Args:
        grid: positions in [-1, 1], x first.
        mode: "bilinear", "nearest" or (4 dims only) "bicubic".
        padding_mode: outside the image, "zeros", the nearest pixel ("border"), or "reflection" at the border.
        align_corners: -1 and 1 are the centres of the corner pixels, not their outer edges.

    Raises:
        ValueError: an unknown mode.
        RuntimeError: shapes that do not fit.
    """
    if mode not in _MODES or padding_mode not in _PADDINGS:
        raise ValueError(
            f"grid_sample: a mode of {_MODES} and a padding_mode of {_PADDINGS} are wanted, "
            f"got {mode!r}, {padding_mode!r}"
        )
    dims = input.dim() - 2
    if dims not in (2, 3) or grid.dim() != input.dim() or grid.shape[-1] != dims or grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            f"grid_sample: an input of 4 or 5 dims and a grid of as many are wanted, "
            f"got shapes {list(input.shape)} and {list(grid.shape)}"
        )
    if input.dtype != grid.dtype or not input.dtype.is_floating_point:
        raise RuntimeError(f"grid_sample: one floating dtype is wanted, got {input.dtype} and {grid.dtype}")
    if mode == "bicubic" and dims != 2:
        raise RuntimeError("grid_sample: mode 'bicubic' wants an input of 4 dims, got 5")
    if any(size == 0 for size in input.shape[1:]):
        raise RuntimeError(f"grid_sample: sizes above 0 are wanted but for the batch, got shape {list(input.shape)}")
    sizes = list(input.shape[2:])
    corners = bool(align_corners)
    taps = []  # for each dim of the image: positions and weights
    for i, size in enumerate(sizes):
        at = grid.select(-1, dims - 1 - i).reshape([grid.shape[0], 1, -1])
        at = (at + 1) / 2 * (size - 1) if corners else ((at + 1) * size - 1) / 2
        if mode != "bicubic":
            at = _pad(at, size, padding_mode, corners)
        taps.append(_taps(at, mode))
    flat = input.reshape([*input.shape[:2], -1])
    result: Any = None
    for choice in itertools.product(*taps):
        part = _tap(flat, sizes, choice, padding_mode if mode == "bicubic" else "zeros", corners)
        result = part if result is None else result + part
    return result.reshape([*input.shape[:2], *grid.shape[1:-1]])


def _taps(at: Tensor, mode: str) -> list[tuple[Tensor, Tensor | None]]:
    """Whole positions around `at` and their weights; None is 1."""
    if mode == "nearest":
        one = ops.where(at.isfinite(), at, 0.0) * 0 + 1 if at.requires_grad else None  # the gradient is 0, not absent
        return [(at.detach().round(), one)]
    floor = at.detach().floor()
    t = at - floor
    if mode == "bilinear":
        return [(floor, 1 - t), (floor + 1, t)]
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [(floor - 1, far(t + 1)), (floor, near(t)), (floor + 1, near(1 - t)), (floor + 2, far(2 - t))]


def _pad(at: Tensor, size: int, padding_mode: str, corners: bool) -> Tensor:
    """Positions outside the image brought back into it, where the mode wants that."""
    if padding_mode == "reflection":
        low, span = (0.0, float(size - 1)) if corners else (-0.5, float(size))
        if span == 0:
            at = at * 0
        else:
            offset = (at - low).abs()
            turns = (offset / span).detach().floor()
            rest = offset - turns * span
            at = ops.where(turns.remainder(2) == 0, rest + low, span - rest + low)
    return at if padding_mode == "zeros" else at.clamp(0, size - 1)


def _tap(flat: Tensor, sizes: Sequence[int], choice: Sequence, padding_mode: str, corners: bool) -> Tensor:
    """One pixel for each position, times its weight."""
    index: Any = None
    weight: Any = None
    inside: Any = None
    for size, (at, factor) in zip(sizes, choice):
        at = _pad(at, size, padding_mode, corners)
        seen = (at >= 0) & (at <= size - 1)
        # Far outside (nan too) the index is 0 and the pixel does not count.
        whole = ops.where(seen, at, 0.0).to(dtype_by_name("int64"))
        index = whole if index is None else index * size + whole
        inside = seen if inside is None else inside & seen
        if factor is not None:
            weight = factor if weight is None else weight * factor
    pixels = ops.plane_gather(flat, index.expand([flat.shape[0], flat.shape[1], index.shape[2]]))
    pixels = ops.where(inside, pixels, 0.0)
    return pixels if weight is None else pixels * weight


@export(function=True, nn=True)
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid that grid_sample reads for an affine map: theta [N, 2, 3] (or [N, 3, 4]), size of the output [N, C, *D].

    Raises:
        ValueError: theta or a size that does not fit.
    """
    size = list(size)
    dims = len(size) - 2
    if not theta.dtype.is_floating_point:
        raise ValueError(f"affine_grid: a floating theta is wanted, got {theta.dtype}")
    if dims not in (2, 3) or list(theta.shape[1:]) != [dims, dims + 1] or theta.dim() != 3 or min(size) <= 0:
        raise ValueError(
            f"affine_grid: theta [N, 2, 3] and 4 sizes above 0, or [N, 3, 4] and 5, are wanted, got shape "
            f"{list(theta.shape)} and {size}"
        )
    spatial = size[2:]
    with beside(theta):
        points = _points(spatial, bool(align_corners), theta.dtype)
    grid = ops.matmul(points, theta.transpose(1, 2))
    return grid.reshape([theta.shape[0], *spatial, dims])


def _points(spatial: list[int], corners: bool, dtype: dtype) -> Tensor:
    """The centres of pixels as [1, pixels, dims + 1], x first, with a 1 behind."""
    dims = len(spatial)
    base = []
    for i in range(dims):
        n = spatial[dims - 1 - i]
        steps = FUNCTIONS["arange"](0, n, dtype=dtype)
        if corners:
            line = steps * (2 / (n - 1)) - 1 if n > 1 else steps
        else:
            line = (steps * 2 + 1) / n - 1
        shape = [1] * dims
        shape[dims - 1 - i] = n
        base.append(line.reshape(shape).expand(spatial))
    base.append(ops.full(spatial, 1.0, dtype=dtype))
    return ops.stack(base, -1).reshape([1, -1, dims + 1])
