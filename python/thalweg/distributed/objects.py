"""Calls on Python objects, which travel pickled: use them only among processes that trust each other."""

from __future__ import annotations

import pickle
from typing import Any

import numpy

import thalweg
from thalweg._core._tensor import Tensor
from thalweg.distributed.collectives import all_gather, broadcast
from thalweg.distributed.group import ProcessGroup, resolve

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list"]


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Puts `obj` of rank i into `object_list[i]` of every rank."""
    size = resolve(group).size()
    if len(object_list) != size:
        raise ValueError(f"all_gather_object: a list of {size} places is wanted, got {len(object_list)}")
    data = _to_tensor(obj)
    lengths = [thalweg.zeros(1, dtype=thalweg.int64) for _ in range(size)]
    all_gather(lengths, thalweg.tensor([data.numel()]), group)
    parts = [thalweg.empty(int(length.item()), dtype=thalweg.uint8) for length in lengths]
    all_gather(parts, data, group)
    object_list[:] = [_to_object(part) for part in parts]


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: ProcessGroup | None = None
) -> None:
    """Puts `obj` of rank i into `object_gather_list[i]` of rank `dst`, which alone gives a list."""
    chosen = resolve(group)
    if (object_gather_list is not None) != (chosen.rank() >= 0 and chosen.ranks[chosen.rank()] == dst):
        raise ValueError("gather_object: a list is wanted from rank dst alone")
    found: list[Any] = [None] * chosen.size()
    all_gather_object(found, obj, group)
    if object_gather_list is not None:
        object_gather_list[:] = found


def broadcast_object_list(
    object_list: list[Any], src: int = 0, group: ProcessGroup | None = None, device: object = None
) -> None:
    """Replaces the objects of the list by those of rank `src`."""
    chosen = resolve(group)
    data = _to_tensor(object_list) if chosen.rank() >= 0 and chosen.ranks[chosen.rank()] == src else None
    length = thalweg.tensor([0 if data is None else data.numel(), len(object_list)])
    broadcast(length, src, group)
    size, count = (int(number) for number in length.tolist())
    if count != len(object_list):
        raise ValueError(
            f"broadcast_object_list: a list of {count} objects comes from rank {src}, got one of {len(object_list)}"
        )
    memory = thalweg.empty(size, dtype=thalweg.uint8) if data is None else data
    broadcast(memory, src, group)
    object_list[:] = _to_object(memory)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int = 0,
    group: ProcessGroup | None = None,
) -> None:
    """Puts object i of the list of rank `src` into the first place of the output list of rank i."""
    chosen = resolve(group)
    objects = list(scatter_object_input_list or [None] * chosen.size())
    if len(objects) != chosen.size():
        raise ValueError(f"scatter_object_list: {chosen.size()} objects are wanted, got {len(objects)}")
    if not scatter_object_output_list:
        raise ValueError("scatter_object_list: an output list with a place is wanted, got an empty one")
    broadcast_object_list(objects, src, group)
    scatter_object_output_list[0] = objects[chosen.rank()]


def _to_tensor(obj: Any) -> Tensor:
    return thalweg.from_numpy(numpy.frombuffer(bytearray(pickle.dumps(obj)), dtype=numpy.uint8))


def _to_object(data: Tensor) -> Any:
    return pickle.loads(data.numpy().tobytes())
