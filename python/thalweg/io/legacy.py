"""The two checkpoint formats of older PyTorch versions, for reading only.

Stream format (0.1.10 to 1.5, or `_use_new_zipfile_serialization=False`), one after the other in the file: the pickles
of a magic number, a version, facts about the machine, the object, the list of storage keys; then each storage as an
int64 count of elements and its bytes.

Tar format (before 0.1.10): members `storages`, `tensors` and `pickle`; the object refers to tensors by number.
"""

import io
import struct
import sys
import tarfile

import thalweg as tw
from thalweg.io.archive import read_exactly
from thalweg.io.raw import byte_view, swap_bytes
from thalweg.io.storages import read_storage, relocated
from thalweg.io.unpickler import read_pickle, rebuild_tensor

_STREAM_MAGIC = 0x1950A86A20F9469CFC6C
_STREAM_VERSION = 1001


def load(file, map_location, weights_only, encoding):
    """Reads either format from a seekable binary file."""
    try:
        return _load_either(file, map_location, weights_only, encoding)
    except (KeyError, TypeError, AttributeError, struct.error) as error:
        raise ValueError(f"load: the checkpoint is damaged: {type(error).__name__}: {error}") from error


def _load_either(file, map_location, weights_only, encoding):
    if _is_tar(file, file.tell()):
        return _load_tar(file, map_location, weights_only, encoding)
    # Data follows a pickle directly: in memory the unpickler reads no further than the pickle's end.
    stream = io.BytesIO(file.read())
    try:
        magic = read_pickle(stream, _no_persistent, True)
    except ValueError as error:
        raise ValueError(f"load: the file is no checkpoint, or it is damaged ({error})") from error
    if magic != _STREAM_MAGIC:
        raise ValueError("load: the file is a pickle but no checkpoint: it does not begin with the magic number")
    return _load_stream(stream, map_location, weights_only, encoding)


def _no_persistent(pid):
    raise ValueError(f"load: unexpected reference {pid!r} in the head of the file")


def _is_tar(file, start):
    block = file.read(512)
    file.seek(start)
    return len(block) == 512 and block[257:262] == b"ustar" or _is_old_tar(block)


def _is_old_tar(block):
    # Python wrote either kind; the older one has no magic but a checksum of the block, its own field as blanks.
    if len(block) != 512:
        return False
    digits = block[148:156].strip(b" \0")
    if not digits or not all(d in b"01234567" for d in digits):
        return False
    return sum(block[:148]) + sum(block[156:]) + 8 * 32 == int(digits, 8)


class _LateStorages:
    """Storages whose bytes come after the object: handed out zeroed, filled in later."""

    def __init__(self, map_location):
        self._map_location = map_location
        self._data = {}  # key -> uint8 tensor on the CPU

    def get(self, key, dtype, location, numel):
        if type(numel) is not int or numel < 0:
            raise ValueError(f"load: storage {key} has a bad size: {numel!r}")
        if key not in self._data:
            size = numel * dtype.itemsize
            data = tw.zeros(size, dtype=tw.uint8)
            moved = relocated(data, location, self._map_location)
            self._data[key] = (data, moved, dtype)
        return self._data[key][1].view(dtype)

    def fill(self, stream, keys, swap):
        if set(keys) != set(self._data):
            raise ValueError("load: the storages in the file are not those that the object refers to")
        for key in keys:
            data, moved, dtype = self._data[key]
            numel = struct.unpack("<q", _take(stream, 8))[0]
            if numel * dtype.itemsize != data.numel():
                raise ValueError(f"load: storage {key} has {numel} elements, the object expects another number")
            if numel:
                read_exactly(stream, byte_view(data))
                if swap:
                    swap_bytes(byte_view(data), dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize)
            if moved is not data:
                moved.copy_(data)


def _load_stream(stream, map_location, weights_only, encoding):
    version = read_pickle(stream, _no_persistent, True)
    if version != _STREAM_VERSION:
        raise ValueError(f"load: version {_STREAM_VERSION} of the old format is wanted, got {version!r}")
    machine = read_pickle(stream, _no_persistent, True)
    little = bool(machine.get("little_endian", True)) if isinstance(machine, dict) else True
    storages = _LateStorages(map_location)

    def load_persistent(pid):
        kind, *rest = pid
        if kind == "module":  # a class with its source code, of which only the class is used
            return rest[0]
        if kind != "storage":
            raise ValueError(f"load: the checkpoint refers to something unknown: {kind!r}")
        storage_type, key, location, numel, view = rest
        flat = storages.get(key, storage_type.dtype, location, numel)
        if view is None:
            return flat
        _, offset, count = view
        return rebuild_tensor(flat, offset, (count,), (1,))

    obj = read_pickle(stream, load_persistent, weights_only, encoding)
    keys = read_pickle(stream, _no_persistent, True)
    storages.fill(stream, keys, swap=little != (sys.byteorder == "little"))
    return obj


def _load_tar(file, map_location, weights_only, encoding):
    try:
        with tarfile.open(fileobj=file, mode="r:") as tar:
            members = {name: io.BytesIO(tar.extractfile(name).read()) for name in ("storages", "tensors", "pickle")}
    except (tarfile.TarError, KeyError, OSError, AttributeError) as error:
        raise ValueError(f"load: the tar checkpoint is damaged: {error}") from error
    objects = _tar_storages(members["storages"], map_location, encoding)
    objects = _tar_tensors(members["tensors"], objects, encoding)

    def load_persistent(pid):
        if isinstance(pid, tuple):  # a class with its source code
            return pid[0]
        return objects[int(pid)]

    return read_pickle(members["pickle"], load_persistent, weights_only, encoding)


def _tar_storages(stream, map_location, encoding):
    def read():
        return read_pickle(stream, _no_persistent, True, encoding)

    storages = {}
    for _ in range(read()):
        key, location, storage_type = read()
        (numel,) = struct.unpack("<q", _take(stream, 8))
        _require(stream, numel * storage_type.dtype.itemsize)
        data = read_storage(numel * storage_type.dtype.itemsize, lambda view: read_exactly(stream, view))
        storages[key] = relocated(data, location, map_location).view(storage_type.dtype)
    for key, root, offset, numel in read():
        storages[key] = rebuild_tensor(storages[root], offset, (numel,), (1,))
    return storages


def _tar_tensors(stream, storages, encoding):
    """Adds the tensors to the storages: the object may refer to either by number."""
    objects = dict(storages)
    for _ in range(read_pickle(stream, _no_persistent, True, encoding)):
        key, storage_key, _ = read_pickle(stream, _no_persistent, True, encoding)
        (ndim,) = struct.unpack("<i4x", _take(stream, 8))
        _require(stream, 16 * ndim + 8)
        size = struct.unpack(f"<{ndim}q", _take(stream, 8 * ndim))
        stride = struct.unpack(f"<{ndim}q", _take(stream, 8 * ndim))
        (offset,) = struct.unpack("<q", _take(stream, 8))
        objects[key] = rebuild_tensor(storages[storage_key], offset, size, stride)
    return objects


def _take(stream, count):
    data = stream.read(count)
    if len(data) != count:
        raise ValueError(f"load: the file is cut short: {count} bytes are wanted, {len(data)} are there")
    return data


def _require(stream, count):
    """Refuses a count that the file cannot hold before memory is taken for it."""
    if count < 0 or count > len(stream.getbuffer()) - stream.tell():
        raise ValueError(f"load: the file is damaged or cut short: {count} more bytes are wanted")
