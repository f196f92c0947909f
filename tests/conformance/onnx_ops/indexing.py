"""Gathering and scattering."""

import thalweg as tw
import thalweg.nn.functional as F

from .registry import NotOffered, op

REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _wrapped(indices, size):
    indices = indices.to(tw.int64)
    return tw.where(indices < 0, indices + size, indices)


@op("Gather")
def gather(node, x, indices):
    axis = node.get("axis", 0) % x.ndim
    return x[(slice(None),) * axis + (indices.to(tw.int64),)]


@op("GatherElements")
def gather_elements(node, x, indices):
    axis = node.get("axis", 0)
    return tw.gather(x, axis, _wrapped(indices, x.shape[axis]))


@op("GatherND")
def gather_nd(node, x, indices):
    batch = node.get("batch_dims", 0)
    places = indices.to(tw.int64).unbind(-1)
    rows = []
    for i, size in enumerate(x.shape[:batch]):
        shape = [1] * (indices.ndim - 1)
        shape[i] = size
        rows.append(tw.arange(size).reshape(shape))
    return x[(*rows, *places)]


@op("ScatterElements", "Scatter")
def scatter_elements(node, x, indices, updates):
    axis, reduction = node.get("axis", 0), node.get("reduction", "none")
    indices = _wrapped(indices, x.shape[axis])
    if reduction == "none":
        return tw.scatter(x, axis, indices, updates)
    return tw.scatter_reduce(x, axis, indices, updates, REDUCTIONS[reduction])


@op("ScatterND")
def scatter_nd(node, x, indices, updates):
    reduction = node.get("reduction", "none")
    places = indices.to(tw.int64).unbind(-1)
    if reduction in ("none", "add"):
        return tw.index_put(x, places, updates, accumulate=reduction == "add")
    # The places as numbers of rows of a matrix whose columns are the dims that indices leave alone.
    row, rows = 0, 1
    for place, size in zip(places, x.shape):
        row, rows = row * size + _wrapped(place, size), rows * size
    flat = x.reshape(rows, -1)
    source = updates.reshape(-1, flat.shape[1])
    index = row.reshape(-1, 1).expand(source.shape)
    return tw.scatter_reduce(flat, 0, index, source, REDUCTIONS[reduction]).reshape(x.shape)


@op("OneHot")
def one_hot(node, indices, depth, values):
    depth, axis = int(depth.reshape(())), node.get("axis", -1)
    indices = indices.to(tw.int64)
    inside = (indices >= -depth) & (indices < depth)
    marks = F.one_hot(tw.where(inside, _wrapped(indices, depth), 0), depth).to(tw.bool) & inside.unsqueeze(-1)
    off, on = values.unbind(0)
    return tw.movedim(tw.where(marks, on, off), -1, axis)


@op("TensorScatter")
def tensor_scatter(node, past, update, start=None):
    if node.get("mode", "linear") != "linear":
        raise NotOffered("TensorScatter around the end")
    axis, result = node.get("axis", -2), past.clone()
    starts = [0] * past.shape[0] if start is None else start.tolist()
    for row, new, first in zip(result.unbind(0), update.unbind(0), starts):
        row.narrow(axis + (axis < 0) * past.ndim - 1, first, new.shape[axis + (axis < 0) * past.ndim - 1]).copy_(new)
    return result
