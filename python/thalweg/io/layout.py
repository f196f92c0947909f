"""Which bytes of which storages a checkpoint holds.

Stages: tensors are grouped by the storage they view; within a storage, tensors whose byte ranges overlap form one
*segment*; a segment is written once, so tensors that share memory still share it after loading. Memory that no saved
tensor reaches is not written: a slice of a large tensor saved alone makes a small file. Tensors of one storage whose
ranges are disjoint become separate segments.

A range runs from the first to the last element, gaps included. A tensor with gaps (a column of a matrix) that shares
its range with no other is written compact, as a contiguous copy.
"""

from typing import NamedTuple


class Placement(NamedTuple):
    """Where a tensor lies: segment `key` of `numel` elements, then offset and strides in elements."""

    key: int
    numel: int
    offset: int
    stride: tuple


class _Range(NamedTuple):
    position: int
    start: int  # in elements of the tensor's dtype
    stop: int
    start_byte: int
    stop_byte: int


def lay_out(tensors):
    """Returns one Placement for each tensor, and the segments as flat contiguous tensors, keyed by position."""
    groups = {}
    for index, tensor in enumerate(tensors):
        # An empty tensor reaches no memory, so it shares none.
        key = (str(tensor.device), tensor.untyped_storage().data_ptr()) if tensor.numel() else index
        groups.setdefault(key, []).append(_range_of(index, tensor))
    clusters = [cluster for ranges in groups.values() for cluster in _overlapping(ranges)]
    # Numbered by first appearance, so that the same object gives the same file.
    clusters.sort(key=lambda cluster: min(r.position for r in cluster))
    placements, segments = [None] * len(tensors), []
    for cluster in clusters:
        segments.append(_place(cluster, tensors, len(segments), placements))
    return placements, segments


def contiguous_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _range_of(index, tensor):
    start = tensor.storage_offset()
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    stop = start + 1 + reach if tensor.numel() else start
    item = tensor.dtype.itemsize
    return _Range(index, start, stop, start * item, stop * item)


def _overlapping(ranges):
    """Cuts the ranges of one storage into lists whose members overlap, directly or through one another."""
    ranges = sorted(ranges, key=lambda r: (r.start_byte, r.position))
    clusters, end = [], None
    for r in ranges:
        if end is not None and r.start_byte < end:
            clusters[-1].append(r)
            end = max(end, r.stop_byte)
        else:
            clusters.append([r])
            end = r.stop_byte
    return clusters


def _place(cluster, tensors, key, placements):
    """Fills in the placements of a cluster and returns its segment."""
    members = [tensors[r.position] for r in cluster]
    first = members[0].detach()
    dtypes = {m.dtype for m in members}
    if len(dtypes) > 1:
        raise ValueError(
            "save: tensors that share memory must have one dtype, which is all the file format can express, "
            f"got {' and '.join(sorted(map(str, dtypes)))}; save a clone of one of them"
        )
    start, stop = cluster[0].start, max(r.stop for r in cluster)
    shapes = {(r.start, tuple(m.shape), tuple(m.stride())) for r, m in zip(cluster, members)}
    if len(shapes) == 1 and first.numel() < stop - start:
        for r, m in zip(cluster, members):
            placements[r.position] = Placement(key, m.numel(), 0, contiguous_strides(m.shape))
        return first.contiguous().reshape(-1)
    for r, m in zip(cluster, members):
        placements[r.position] = Placement(key, stop - start, r.start - start, tuple(m.stride()))
    return first.as_strided((stop - start,), (1,), start)
