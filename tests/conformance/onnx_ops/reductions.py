"""Reductions, scans, and the order of elements."""

import functools

import thalweg as tw

from .registry import NotOffered, ints, op


def _over(function, empty=None):
    """function(x, dims, keepdim); `empty` stands for the result over no elements where thalweg has none."""

    def reduce(node, x, axes=None):
        dims = node.get("axes") if axes is None else ints(axes)
        keep = bool(node.get("keepdims", 1))
        if not dims and node.get("noop_with_empty_axes", 0):
            return function(x.unsqueeze(-1), [-1], False)
        dims = dims or list(range(x.ndim))
        if empty is not None and x.numel() == 0:
            shape = [1 if i in {d % x.ndim for d in dims} else n for i, n in enumerate(x.shape)]
            result = tw.full(shape, empty(x.dtype), dtype=x.dtype)
            return result if keep else result.squeeze(tuple(dims))
        return function(x, dims, keep)

    return reduce


def _prod(x, dims, keep):
    for d in sorted((d % x.ndim for d in dims), reverse=True):
        x = tw.prod(x, d, keep, dtype=x.dtype)
    return x


def _lowest(dtype):
    return -float("inf") if dtype.is_floating_point else 0 if dtype == tw.bool else tw.iinfo(dtype).min


def _highest(dtype):
    return float("inf") if dtype.is_floating_point else 1 if dtype == tw.bool else tw.iinfo(dtype).max


def _norm(order):
    def norm(x, dims, keep):
        if x.is_floating_point():
            return tw.linalg.vector_norm(x, order, dims, keep)
        return tw.linalg.vector_norm(x.to(tw.float64), order, dims, keep).to(x.dtype)

    return norm


def _log_sum_exp(x, dims, keep):
    return tw.logsumexp(x, dims, keep)


for name, function, empty in (
    ("ReduceSum", lambda x, d, k: tw.sum(x, d, k, dtype=x.dtype), None),
    ("ReduceMean", tw.mean, None),
    ("ReduceMax", tw.amax, _lowest),
    ("ReduceMin", tw.amin, _highest),
    ("ReduceProd", _prod, None),
    ("ReduceL1", _norm(1), None),
    ("ReduceL2", _norm(2), None),
    ("ReduceSumSquare", lambda x, d, k: tw.sum(x * x, d, k, dtype=x.dtype), None),
    ("ReduceLogSum", lambda x, d, k: tw.log(tw.sum(x, d, k)), None),
    ("ReduceLogSumExp", _log_sum_exp, None),
):
    op(name)(_over(function, empty))


def _arg(function, node, x):
    axis, keep = node.get("axis", 0), bool(node.get("keepdims", 1))
    if node.get("select_last_index", 0):
        return x.shape[axis] - 1 - function(x.flip(axis), axis, keep)
    return function(x, axis, keep)


op("ArgMax")(functools.partial(_arg, tw.argmax))
op("ArgMin")(functools.partial(_arg, tw.argmin))


def _scan(function, start, node, x, axis):
    axis = int(axis)
    x = x.flip(axis) if node.get("reverse", 0) else x
    result = function(x, axis, dtype=x.dtype)
    if node.get("exclusive", 0):
        first = tw.full_like(x.narrow(axis, 0, 1), start)
        result = tw.cat([first, result.narrow(axis, 0, x.shape[axis] - 1)], axis)
    return result.flip(axis) if node.get("reverse", 0) else result


op("CumSum")(functools.partial(_scan, tw.cumsum, 0))
op("CumProd")(functools.partial(_scan, tw.cumprod, 1))


@op("TopK")
def topk(node, x, k=None):
    k = node.get("k") if k is None else int(k)
    return tuple(tw.topk(x, k, node.get("axis", -1), bool(node.get("largest", 1)), bool(node.get("sorted", 1))))


@op("NonZero")
def nonzero(node, x):
    return tw.nonzero(x).t()


@op("Unique")
def unique(node, x):
    axis = node.get("axis")
    flat = x.reshape(-1) if axis is None else x
    values, inverse, counts = tw.unique(flat, return_inverse=True, return_counts=True, dim=axis)
    number = values.shape[axis or 0]
    places = tw.arange(inverse.numel())
    first = tw.full((number,), inverse.numel(), dtype=tw.int64).scatter_reduce(0, inverse.reshape(-1), places, "amin")
    if not node.get("sorted", 1):
        order = tw.argsort(first)
        values, first, counts = values.index_select(axis or 0, order), first[order], counts[order]
        inverse = tw.argsort(order)[inverse]
    return values, first, inverse, counts


@op("Compress")
def compress(node, x, condition):
    axis = node.get("axis")
    x = x.reshape(-1) if axis is None else x
    return tw.index_select(x, axis or 0, tw.nonzero(condition).reshape(-1))


@op("Hardmax")
def hardmax(node, x):
    axis = node.get("axis", -1 if node.opset >= 13 else 1)
    if node.opset < 13:
        raise NotOffered("Hardmax of opsets before 13")
    return tw.zeros_like(x).scatter(axis, tw.argmax(x, axis, keepdim=True), 1.0)
