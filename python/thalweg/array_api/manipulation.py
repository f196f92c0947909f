"""Manipulation, indexing and products of arrays under the standard's signatures."""

from collections.abc import Sequence
from typing import Any, cast

import thalweg as tw
from thalweg._core._tensor import Tensor
from thalweg.array_api.elementwise import promoted

__all__ = [
    "broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "matmul", "matrix_transpose", "moveaxis",
    "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "take", "take_along_axis", "tensordot", "tile",
    "unstack", "vecdot",
]  # fmt: skip

Axis = int | Sequence[int] | None


def axes_of(x: Tensor, axis: Axis) -> list[int]:
    """The axes that an argument names, all of them for None."""
    if axis is None:
        return list(range(x.ndim))
    return [cast(int, axis)] if hasattr(axis, "__index__") else list(cast(Sequence[int], axis))


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Views of all arrays in the shape that they broadcast to."""
    return tw.broadcast_tensors(*arrays)


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """A view of x in another shape."""
    return tw.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays joined along an axis, or flattened and joined."""
    parts = promoted(*arrays)
    return tw.cat([x.reshape(-1) for x in parts], 0) if axis is None else tw.cat(parts, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays joined along a new axis."""
    return tw.stack(promoted(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The positions along an axis, one by one."""
    return tw.unbind(x, axis)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """x with an axis of size 1 put in."""
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """x without axes of size 1."""
    for a in axes_of(x, axis):
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} has size {x.shape[a]}, not 1")
    return x.squeeze(axis)


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """x with the order of elements reversed."""
    return tw.flip(x, axes_of(x, axis))


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Tensor:
    """x with elements moved along axes, those pushed out at the end put in front."""
    if axis is None:
        return tw.roll(x, shift)
    axes = axes_of(x, axis)
    if not axes:
        return x.clone()
    return tw.roll(x, [shift] * len(axes) if isinstance(shift, int) else shift, axes)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """x with axes moved."""
    return tw.movedim(x, source, destination)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """x with its axes in another order."""
    return tw.permute(x, axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """x with its last two axes swapped."""
    return x.mT


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """x in another shape; copy=False refuses to copy."""
    if copy is False:
        return x.view(tuple(shape))
    return (x.clone() if copy else x).reshape(tuple(shape))


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element so many times."""
    return tw.repeat_interleave(x, repeats.to(tw.int64) if isinstance(repeats, Tensor) else repeats, axis)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """x so many times along each axis; missing numbers in front are 1, missing axes are put in front."""
    return tw.tile(x, tuple(repetitions))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The positions of an axis that indices name."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an axis is wanted for {x.ndim} axes")
        axis = 0
    return x[(slice(None),) * (axis % x.ndim) + (indices.to(tw.int64),)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The element of each row along an axis that indices name."""
    return tw.take_along_dim(x, indices.to(tw.int64), axis)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product of the last two axes, the others broadcast."""
    return tw.matmul(*promoted(x1, x2))


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Sums of products over pairs of axes."""
    return tw.tensordot(*promoted(x1, x2), dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The dot product of vectors along an axis, the first one conjugated; the other axes are broadcast."""
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"vecdot: a negative axis that both have is wanted, got {axis} for {x1.ndim} and {x2.ndim}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: the sizes differ at axis {axis}: {x1.shape[axis]} and {x2.shape[axis]}")
    x1, x2 = promoted(x1, x2)
    return tw.sum(tw.conj(x1) * x2, axis, dtype=x1.dtype)
