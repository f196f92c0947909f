"""Derivatives of sampled functions by finite differences."""

from collections.abc import Sequence
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.support import wrap_dims

__all__ = ["gradient"]


@export(function=True)
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """The derivative along each dim of a function of which input holds samples, of second order inside.

    Args:
        spacing: the distance of neighbours: a number, one for each dim, or a tensor of coordinates for each dim.
        dim: the dims, all by default.
        edge_order: 1 or 2, the order at the two ends.

    >>> import thalweg as tw
    >>> tw.gradient(tw.tensor([1.0, 4.0, 9.0, 16.0]))[0]
    tensor([3., 4., 6., 7.])
    """
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: an edge_order of 1 or 2 is wanted, got {edge_order}")
    dims = list(range(input.ndim)) if dim is None else wrap_dims("gradient", dim, input.ndim)
    for d in dims:
        if input.shape[d] <= edge_order:
            raise RuntimeError(
                f"gradient: more than {edge_order} samples are wanted along dim {d}, got {input.shape[d]}"
            )
    return [
        _along(input, d, _distances(space, input.shape[d]), edge_order)
        for d, space in zip(dims, _spaces(spacing, dims), strict=True)
    ]


def _spaces(spacing: Any, dims: Sequence[int]) -> list:
    spaces = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(dims)
    if len(spaces) != len(dims):
        raise RuntimeError(f"gradient: {len(dims)} spacings are wanted, one for each dim, got {len(spaces)}")
    return spaces


def _distances(space: Any, size: int) -> Any:
    """Between neighbours: a number, or a tensor."""
    if not isinstance(space, Tensor) or space.ndim == 0:
        return space
    if list(space.shape) != [size]:
        raise RuntimeError(f"gradient: {size} coordinates are wanted, got a tensor of shape {list(space.shape)}")
    return space[1:] - space[:-1]


def _along(input: Tensor, dim: int, h: Any, edge_order: int) -> Tensor:
    x = input.movedim(dim, -1)
    if not x.dtype.is_floating_point and not x.dtype.is_complex:
        x = ops.true_divide(x, 1)
    before, after = (h[:-1], h[1:]) if isinstance(h, Tensor) else (h, h)
    first, last = (h[0], h[-1]) if isinstance(h, Tensor) else (h, h)
    inside = _weighted(x[..., :-2], x[..., 1:-1], x[..., 2:], before, after)
    if edge_order == 1:
        ends = (x[..., 1:2] - x[..., :1]) / first, (x[..., -1:] - x[..., -2:-1]) / last
    else:
        second, third = (h[1], h[-2]) if isinstance(h, Tensor) else (h, h)
        ends = (
            _at_end(x[..., :1], x[..., 1:2], x[..., 2:3], first, second, 1),
            _at_end(x[..., -1:], x[..., -2:-1], x[..., -3:-2], last, third, -1),
        )
    return ops.cat([ends[0], inside, ends[1]], -1).movedim(-1, dim)


def _weighted(left: Tensor, middle: Tensor, right: Tensor, before: Any, after: Any) -> Tensor:
    """Of the parabola through three samples, in the middle."""
    if not isinstance(before, Tensor):
        return (right - left) / (2 * before)
    whole = before + after
    return (
        middle * ((after - before) / (before * after))
        + right * (before / (after * whole))
        - left * (after / (before * whole))
    )


def _at_end(end: Tensor, next: Tensor, other: Tensor, near: Any, far: Any, sign: int) -> Tensor:
    """Of the parabola through three samples, at the outer one; `sign` is -1 where coordinates fall away from it."""
    whole = near + far
    rise = next * (whole / (near * far)) - other * (near / (far * whole)) - end * ((whole + near) / (near * whole))
    return rise if sign > 0 else -rise
