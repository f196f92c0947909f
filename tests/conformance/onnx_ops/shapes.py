"""Operators that make, move, join and cut tensors, and the two that hold a graph."""

import thalweg as tw
import thalweg.nn.functional as F

from .registry import NotOffered, dtype, ints, op

INT64 = tw.int64


@op("Constant")
def constant(node):
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        value = node.get(name)
        if value is not None:
            kind = tw.float32 if "float" in name else INT64
            return value if name == "value" else tw.tensor(value, dtype=kind)
    raise NotOffered("Constant of strings or sparse values")


@op("ConstantOfShape")
def constant_of_shape(node, shape):
    value = node.get("value")
    value = tw.zeros(1) if value is None else value
    return tw.full(ints(shape), value.item(), dtype=value.dtype)


@op("EyeLike")
def eye_like(node, x):
    kind = x.dtype if node.get("dtype") is None else dtype(node.get("dtype"))
    rows, columns, k = *x.shape, node.get("k", 0)
    result = tw.zeros(rows, columns, dtype=kind)
    result.diagonal(k).fill_(1)
    return result


@op("Range")
def numbers(node, start, limit, delta):
    return tw.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


@op("Shape")
def shape(node, x):
    return tw.tensor(list(x.shape)[node.get("start", 0) : node.get("end")], dtype=INT64)


@op("Size")
def size(node, x):
    return tw.tensor(x.numel())


@op("Reshape")
def reshape(node, x, shape=None):
    sizes = node.get("shape") if shape is None else ints(shape)
    if not node.get("allowzero", 0):
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return tw.reshape(x, sizes)


@op("Flatten")
def flatten(node, x):
    axis = node.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    rows = 1
    for n in x.shape[:axis]:
        rows *= n
    return tw.reshape(x, (rows, x.numel() // rows if rows else 0)) if rows else x.flatten(max(axis, 1))


@op("Transpose")
def transpose(node, x):
    return tw.permute(x, node.get("perm", list(range(x.ndim))[::-1]))


@op("Squeeze")
def squeeze(node, x, axes=None):
    dims = node.get("axes") if axes is None else ints(axes)
    return x.squeeze() if dims is None else x.squeeze(tuple(dims))


@op("Unsqueeze")
def unsqueeze(node, x, axes=None):
    dims = node.get("axes") if axes is None else ints(axes)
    for d in sorted(d % (x.ndim + len(dims)) for d in dims):
        x = x.unsqueeze(d)
    return x


@op("Expand")
def expand(node, x, shape):
    return tw.broadcast_to(x, tw.broadcast_shapes(x.shape, ints(shape)))


@op("Tile")
def tile(node, x, repeats):
    return tw.tile(x, ints(repeats))


@op("Concat")
def concat(node, *inputs):
    return tw.cat(inputs, node.get("axis", 1))


@op("Split")
def split(node, x, sizes=None):
    axis, number = node.get("axis", 0), node.get("num_outputs") or len(node.outputs)
    sizes = node.get("split") if sizes is None else ints(sizes)
    return tw.split(x, sizes or -(-x.shape[axis] // number), axis)


@op("Slice")
def cut(node, x, starts=None, ends=None, axes=None, steps=None):
    starts, ends = ints(starts) or node.get("starts"), ints(ends) or node.get("ends")
    axes = ints(axes) or node.get("axes") or list(range(len(starts)))
    for start, end, axis, step in zip(starts, ends, axes, ints(steps) or [1] * len(starts)):
        places = range(x.shape[axis])[start:end:step]
        if step > 0:
            x = x[(slice(None),) * (axis % x.ndim) + (slice(start, end, step),)]
        else:
            x = tw.index_select(x, axis, tw.tensor(list(places), dtype=INT64))
    return x


@op("Pad")
def pad(node, x, pads=None, value=None, axes=None):
    pads = node.get("pads") if pads is None else ints(pads)
    value = node.get("value", 0.0) if value is None else value.item()
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[
        node.get("mode", "constant")
    ]
    dims = ints(axes) or list(range(x.ndim))
    sides = [(0, 0)] * x.ndim
    for i, d in enumerate(dims):
        sides[d] = (pads[i], pads[i + len(dims)])
    if mode == "constant":
        return F.pad(x, [n for side in reversed(sides) for n in side], mode, value)
    while len(sides) > 1 and sides[0] == (0, 0) and x.ndim - len(sides) < 2:
        sides = sides[1:]
    return F.pad(x, [n for side in reversed(sides) for n in side], mode)


@op("Trilu")
def trilu(node, x, k=None):
    k = 0 if k is None else int(k)
    return tw.triu(x, k) if node.get("upper", 1) else tw.tril(x, k)


@op("DepthToSpace")
def depth_to_space(node, x):
    block = node.get("blocksize")
    if node.get("mode", "DCR") == "CRD":
        return tw.pixel_shuffle(x, block)
    n, c, h, w = x.shape
    parts = x.reshape(n, block, block, c // block**2, h, w)
    return parts.permute(0, 3, 4, 1, 5, 2).reshape(n, c // block**2, h * block, w * block)


@op("SpaceToDepth")
def space_to_depth(node, x):
    block = node.get("blocksize")
    if node.get("mode", "DCR") == "CRD":
        return tw.pixel_unshuffle(x, block)
    n, c, h, w = x.shape
    rows = tw.pixel_unshuffle(x, block).reshape(n, c, block**2, h // block, w // block)
    return rows.transpose(1, 2).reshape(n, c * block**2, h // block, w // block)


@op("CenterCropPad")
def center_crop_pad(node, x, shape):
    sizes = ints(shape)
    for axis, size in zip(node.get("axes", list(range(x.ndim))), sizes):
        have = x.shape[axis]
        if size < have:
            x = x.narrow(axis, (have - size) // 2, size)
        sides = [0, 0] * x.ndim
        if size > have:
            before = (size - have) // 2
            sides[2 * (x.ndim - 1 - axis % x.ndim)] = before
            sides[2 * (x.ndim - 1 - axis % x.ndim) + 1] = size - have - before
            x = F.pad(x, sides)
    return x


@op("ReverseSequence")
def reverse_sequence(node, x, lengths):
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    parts = []
    for row, length in zip(tw.unbind(x, batch), ints(lengths)):
        axis = time - (time > batch)
        head, tail = row.narrow(axis, 0, length), row.narrow(axis, length, row.shape[axis] - length)
        parts.append(tw.cat([head.flip(axis), tail], axis))
    return tw.stack(parts, batch)


@op("If")
def branch(node, condition):
    return tuple(node.run_graph(node.get("then_branch" if bool(condition) else "else_branch"), []))


@op("Loop")
def loop(node, trips, condition, *carried):
    """Values carried from one pass to the next, then what each pass adds to the scanned outputs."""
    body, carried, scanned = node.get("body"), list(carried), []
    count, step = float("inf") if trips is None else int(trips), 0
    while step < count and (condition is None or bool(condition)):
        condition, *results = node.run_graph(body, [tw.tensor(step), condition, *carried])
        carried, found = results[: len(carried)], results[len(carried) :]
        scanned.append(found)
        step += 1
    return (*carried, *(tw.stack(column) for column in zip(*scanned)))
