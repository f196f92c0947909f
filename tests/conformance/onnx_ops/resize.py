"""Resize, as far as interpolate has its modes."""

import thalweg.nn.functional as F

from .registry import NotOffered, ints, op

LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def _mode(node, dims):
    """(mode, align_corners) of interpolate, or NotOffered."""
    mode, place = node.get("mode", "nearest"), node.get("coordinate_transformation_mode", "half_pixel")
    if mode == "nearest":
        rounding = node.get("nearest_mode", "round_prefer_floor")
        if (place, rounding) == ("asymmetric", "floor"):
            return "nearest", None
        if (place, rounding) == ("half_pixel", "round_prefer_ceil"):
            return "nearest-exact", None
        raise NotOffered(f"Resize to the nearest with {place} and {rounding}")
    if place not in ("half_pixel", "align_corners", "pytorch_half_pixel"):
        raise NotOffered(f"Resize with {place}")
    if mode == "cubic":
        if abs(node.get("cubic_coeff_a", -0.75) + 0.75) > 1e-6 or dims != 2:
            raise NotOffered("a cubic Resize with another coefficient or number of dims")
        mode = "bicubic"
    else:
        mode = LINEAR[dims]
    return mode, place == "align_corners"


def _resize(x, mode, align, **target):
    options = {} if align is None else {"align_corners": align}
    return F.interpolate(x, mode=mode, **target, **options)


@op("Resize")
def resize(node, x, roi=None, scales=None, sizes=None):
    node.refuse("exclude_outside", 0)
    node.refuse("antialias", 0)
    node.refuse("keep_aspect_ratio_policy", "stretch")
    axes = node.get("axes", list(range(x.ndim)))
    if scales is not None and scales.numel():
        factors = dict(zip(axes, scales.tolist()))
        moved = [a for a in range(x.ndim) if factors.get(a, 1) != 1]
    else:
        factors = dict(zip(axes, ints(sizes)))
        moved = [a for a in range(x.ndim) if factors.get(a, x.shape[a]) != x.shape[a]]
    if any(a < 2 for a in moved):
        raise NotOffered("Resize of the first two dims")
    mode, align = _mode(node, x.ndim - 2)
    spatial = range(2, x.ndim)
    if scales is not None and scales.numel():
        target = {"scale_factor": [factors.get(a, 1.0) for a in spatial]}
        sizes = [x.shape[a] * factors.get(a, 1.0) for a in spatial]
    else:
        target = {"size": [factors.get(a, x.shape[a]) for a in spatial]}
        sizes = target["size"]
    if align and any(s != int(s) for s in sizes):
        raise NotOffered("Resize with align_corners to a size that is no integer")
    if node.get("coordinate_transformation_mode") == "pytorch_half_pixel" and min(sizes) <= 1:
        raise NotOffered("Resize to one pixel with pytorch_half_pixel")
    return _resize(x, mode, align, **target)


@op("Upsample")
def upsample(node, x, scales=None):
    factors = node.get("scales") if scales is None else scales.tolist()
    mode = node.get("mode", "nearest")
    if mode != "nearest" or factors[:2] != [1, 1]:
        raise NotOffered(f"Upsample with {mode} or of the first two dims")
    return _resize(x, "nearest", None, scale_factor=factors[2:])
