"""Pooling."""

import thalweg as tw
import thalweg.nn.functional as F

from .neural import padded, window
from .registry import NotOffered, ints, op

MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
POWER = {1: F.lp_pool1d, 2: F.lp_pool2d, 3: F.lp_pool3d}
UNPOOL = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}


def _lowest(dtype):
    return -float("inf") if dtype.is_floating_point else tw.iinfo(dtype).min


@op("MaxPool")
def max_pool(node, x):
    kernel = node.get("kernel_shape")
    strides, dilations, sides = window(node, x, kernel)
    shape, n = x.shape, len(kernel)
    x, padding = padded(x, sides, _lowest(x.dtype))
    if any(2 * p > k for p, k in zip(padding, kernel)):
        x, padding = F.pad(x, [p for p in reversed(padding) for _ in (0, 1)], "constant", _lowest(x.dtype)), 0
    ceil = bool(node.get("ceil_mode", 0))
    if not node.wants(1):
        return MAX[n](x, kernel, strides, padding, dilations, ceil)
    if x.shape != shape or node.get("storage_order", 0):
        raise NotOffered("MaxPool's indices with uneven padding or in column order")
    values, indices = MAX[n](x, kernel, strides, padding, dilations, ceil, return_indices=True)
    plane = tw.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *[1] * n)
    return values, indices + plane * (x.numel() // (shape[0] * shape[1]))


@op("AveragePool")
def average_pool(node, x):
    kernel = node.get("kernel_shape")
    strides, dilations, sides = window(node, x, kernel)
    if any(d != 1 for d in dilations):
        raise NotOffered("AveragePool with dilations")
    include, ceil = bool(node.get("count_include_pad", 0)), bool(node.get("ceil_mode", 0))
    if all(a == b and 2 * a <= k for (a, b), k in zip(sides, kernel)):
        return AVERAGE[len(kernel)](x, kernel, strides, [a for a, _ in sides], ceil, include)
    if ceil and include:
        raise NotOffered("AveragePool with uneven padding, counted, and a ceiling")
    x, ones = (F.pad(t, [n for side in reversed(sides) for n in side]) for t in (x, tw.ones_like(x)))
    total = AVERAGE[len(kernel)](x, kernel, strides, 0, ceil)
    return total if include else total / AVERAGE[len(kernel)](ones, kernel, strides, 0, ceil)


@op("LpPool")
def lp_pool(node, x):
    kernel = node.get("kernel_shape")
    strides, dilations, sides = window(node, x, kernel)
    if any(d != 1 for d in dilations):
        raise NotOffered("LpPool with dilations")
    x = F.pad(tw.abs(x), [n for side in reversed(sides) for n in side])
    return POWER[len(kernel)](x, node.get("p", 2), kernel, strides, bool(node.get("ceil_mode", 0)))


@op("GlobalAveragePool")
def global_average_pool(node, x):
    return (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[x.ndim - 3](x, 1)


@op("GlobalMaxPool")
def global_max_pool(node, x):
    return (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[x.ndim - 3](x, 1)


@op("MaxUnpool")
def max_unpool(node, x, indices, size=None):
    kernel = node.get("kernel_shape")
    strides, _, sides = window(node, x, kernel)
    if any(a or b for a, b in sides):
        raise NotOffered("MaxUnpool with padding")
    natural = [(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, kernel)]
    plane = natural[0] * natural[1]
    size = natural if size is None else ints(size)[2:]
    local = indices % plane
    if size != natural:  # the indices count in the natural size
        result = UNPOOL[len(kernel)](x, local, kernel, strides, 0, natural)
        return F.pad(result, [n for a, b in reversed(list(zip(size, natural))) for n in (0, a - b)])
    return UNPOOL[len(kernel)](x, local, kernel, strides, 0, size)
