"""Storages of a checkpoint, read once each, moved where they belong, and shared by the tensors that view them."""

import thalweg as tw
from thalweg.io.raw import byte_view, swap_bytes, tensor_over


class Storages:
    """Loaded storages by key.

    fetch(key, size_bytes) -> 1-d uint8 tensor on the CPU that holds the storage's bytes.
    map_location: as in `load`.
    """

    def __init__(self, fetch, map_location, swap=False):
        self._fetch = fetch
        self._map_location = map_location
        self._swap = swap
        self._loaded = {}

    def get(self, key, dtype, location, numel):
        """The storage as a 1-d tensor of `dtype` with `numel` elements."""
        if type(numel) is not int or numel < 0:
            raise ValueError(f"load: storage {key} has a bad size: {numel!r}")
        size = numel * dtype.itemsize
        if key not in self._loaded:
            data = self._fetch(key, size)
            if self._swap:
                component = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
                swap_bytes(byte_view(data), component)
            self._loaded[key] = relocated(data, location, self._map_location)
        data = self._loaded[key]
        if data.numel() < size:
            raise ValueError(f"load: storage {key} holds {data.numel()} bytes, {size} are wanted")
        return data[:size].view(dtype) if size else tw.empty(0, dtype=dtype, device=data.device)


def relocated(data, location, map_location):
    """Moves a storage to where `map_location` sends what was saved on `location`."""
    if callable(map_location):
        moved = map_location(data, location)
        if moved is not None:
            return moved
    elif isinstance(map_location, dict):
        location = map_location.get(location, location)
    elif map_location is not None:
        location = map_location
    if str(location) == "cpu":
        return data
    try:
        return data.to(tw.device(location))
    except (RuntimeError, ValueError, OSError, AssertionError) as error:
        raise ValueError(
            f"load: a storage belongs on {location}, which cannot be used here ({error}); "
            "give map_location='cpu' to load it into ordinary memory"
        ) from error


def read_storage(size, fill):
    """A new uint8 tensor of `size` bytes whose memory `fill` writes."""
    data = tw.empty(size, dtype=tw.uint8)
    if size:
        fill(byte_view(data))
    return data


def mapped_storage(mapping, offset, size):
    """A uint8 tensor over part of a memory-mapped file; writing to it does not reach the file."""
    return tensor_over(memoryview(mapping)[offset : offset + size], tw.uint8)
