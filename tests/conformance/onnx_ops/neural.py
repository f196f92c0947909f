"""Convolutions, sampling grids and patches."""

import thalweg as tw
import thalweg.nn.functional as F

from .registry import NotOffered, ints, op

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def window(node, x, kernel):
    """(strides, dilations, pads as (before, after) for each dim) of a node that slides a kernel."""
    n = len(kernel)
    strides, dilations = node.get("strides", [1] * n), node.get("dilations", [1] * n)
    auto = node.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", "VALID"):
        pads = node.get("pads", [0] * 2 * n) if auto == "NOTSET" else [0] * 2 * n
        return strides, dilations, list(zip(pads[:n], pads[n:]))
    sides = []
    for size, k, s, d in zip(x.shape[2:], kernel, strides, dilations):
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        small = total // 2
        sides.append((small, total - small) if auto == "SAME_UPPER" else (total - small, small))
    return strides, dilations, sides


def padded(x, sides, value=0.0):
    """(x, padding): what the op can pad itself stays a number, uneven sides are padded here."""
    if all(a == b for a, b in sides):
        return x, [a for a, _ in sides]
    return F.pad(x, [n for side in reversed(sides) for n in side], "constant", value), [0] * len(sides)


@op("Conv")
def conv(node, x, weight, bias=None):
    strides, dilations, sides = window(node, x, weight.shape[2:])
    x, padding = padded(x, sides)
    return CONV[weight.ndim - 2](x, weight, bias, strides, padding, dilations, node.get("group", 1))


@op("ConvTranspose")
def conv_transpose(node, x, weight, bias=None):
    kernel, n = weight.shape[2:], weight.ndim - 2
    strides, dilations = node.get("strides", [1] * n), node.get("dilations", [1] * n)
    more, group = node.get("output_padding", [0] * n), node.get("group", 1)
    pads, wanted = node.get("pads", [0] * 2 * n), node.get("output_shape")
    auto = node.get("auto_pad", "NOTSET")
    whole = [
        s * (size - 1) + o + (k - 1) * d + 1 for size, s, o, k, d in zip(x.shape[2:], strides, more, kernel, dilations)
    ]
    if wanted is None and auto.startswith("SAME"):
        wanted = [size * s for size, s in zip(x.shape[2:], strides)]
    sides = list(zip(pads[:n], pads[n:]))
    if wanted is not None:
        sides = []
        for have, want in zip(whole, wanted[-n:]):
            total, upper = have - want, auto == "SAME_UPPER"
            sides.append((total // 2, total - total // 2) if upper else (total - total // 2, total // 2))
    if all(a == b and a >= 0 for a, b in sides):
        padding = [a for a, _ in sides]
        return TRANSPOSED[n](x, weight, bias, strides, padding, more, group, dilations)
    result = TRANSPOSED[n](x, weight, bias, strides, 0, more, group, dilations)
    return F.pad(result, [-a for side in reversed(sides) for a in side])


@op("CausalConvWithState")
def causal_conv(node, x, weight, bias=None, state=None):
    keep = weight.shape[-1] - 1
    state = tw.zeros(*x.shape[:2], keep, dtype=x.dtype) if state is None else state
    whole = tw.cat([state, x], -1)
    y = F.conv1d(whole, weight, bias, groups=x.shape[1])
    y = F.silu(y) if node.get("activation", "none") in ("silu", "swish") else y
    return y, whole.narrow(-1, whole.shape[-1] - keep, keep)


@op("GridSample")
def grid_sample(node, x, grid):
    mode = node.get("mode", "linear")
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    padding, align = node.get("padding_mode", "zeros"), bool(node.get("align_corners", 0))
    return F.grid_sample(x, grid, mode, padding, align)


@op("AffineGrid")
def affine_grid(node, theta, size):
    return F.affine_grid(theta, ints(size), bool(node.get("align_corners", 0)))


@op("Col2Im")
def col2im(node, x, image, block):
    image, block = ints(image), ints(block)
    if len(image) != 2:
        raise NotOffered(f"Col2Im of {len(image)} dims")
    pads = node.get("pads", [0] * 4)
    if pads[:2] != pads[2:]:
        raise NotOffered("Col2Im with uneven pads")
    return F.fold(x, image, block, node.get("dilations", [1, 1]), pads[:2], node.get("strides", [1, 1]))
