"""Resampling with a filter as wide as the pixels of the smaller image: interpolate's antialias.

A new pixel is the sum of the old ones weighted by the mode's filter about its centre; where the image shrinks, the
filter is stretched by the ratio of the sizes. Dims are independent, so the result is two products with matrices of
weights: (rows x height) @ image @ (width x columns).
"""

from thalweg._core._tensor import Tensor
from thalweg._registry import ops

__all__ = ["resample_antialiased"]

_CUBIC = -0.5  # the cubic filter's slope at 1, as image libraries have it (interpolation without antialias: -0.75)


def _linear(x: float) -> float:
    return max(1.0 - abs(x), 0.0)


def _cubic(x: float) -> float:
    x = abs(x)
    if x < 1:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * _CUBIC if x < 2 else 0.0


# mode: the filter and half its width
_FILTERS = {"bilinear": (_linear, 1.0), "bicubic": (_cubic, 2.0)}


def _weights(mode: str, size: int, new_size: int, ratio: float) -> list[list[float]]:
    """A row of weights, which add up to 1, for each new position; `ratio` old pixels make a new one."""
    function, reach = _FILTERS[mode]
    stretch = max(ratio, 1.0)
    rows = []
    for i in range(new_size):
        centre = ratio * (i + 0.5)
        first = max(int(centre - reach * stretch + 0.5), 0)
        last = min(int(centre + reach * stretch + 0.5), size)
        row = [function((j - centre + 0.5) / stretch) if first <= j < last else 0.0 for j in range(size)]
        total = sum(row)
        rows.append([w / total for w in row] if total else row)
    return rows


def resample_antialiased(
    input: Tensor, sizes: list[int], mode: str, align_corners: bool, scales: list[float]
) -> Tensor:
    """An image [N, C, H, W] at another size."""
    if not input.is_floating_point():
        raise TypeError(f"interpolate: antialias wants a floating dtype, got {input.dtype}")
    matrices = []
    for dim, (size, new_size) in enumerate(zip(input.shape[2:], sizes, strict=True)):
        if align_corners:
            ratio = (size - 1) / (new_size - 1) if new_size > 1 else 0.0
        else:
            ratio = 1 / scales[dim] if scales else size / new_size
        matrices.append(input.new_tensor(_weights(mode, size, new_size, ratio)))
    return ops.matmul(ops.matmul(matrices[0], input), ops.transpose(matrices[1], 0, 1))
