"""`save` and `load`: objects with tensors in them, in PyTorch's checkpoint format.

`save` writes the zip format (archive.py) with PyTorch's names (names.py); `load` reads it and the two formats that
older versions of PyTorch wrote (legacy.py). Neither needs PyTorch.
"""

import contextlib
import io
import mmap as mmap_module
import os
import sys

from thalweg.io import legacy
from thalweg.io.archive import ALIGNMENT, ArchiveReader, ArchiveWriter
from thalweg.io.files import replacing
from thalweg.io.pickler import pickled
from thalweg.io.raw import byte_view
from thalweg.io.storages import Storages, mapped_storage, read_storage
from thalweg.io.unpickler import read_pickle

_ZIP_MAGIC = b"PK\x03\x04"


def save(obj, f):
    """Saves an object: tensors, parameters, containers of them, or anything that pickles.

    obj: what to save. Tensors that share memory share it again after `load`; memory that no saved tensor reaches is
        not written, so a slice of a large tensor saved alone makes a small file (PyTorch writes the whole storage).
    f: a path, or a file opened for binary writing. A path is written whole or not at all: the file appears, or is
        replaced, in one step.

    PyTorch reads the file where it holds only tensors, parameters and plain containers. Raises ValueError for
    tensors of different dtypes that share memory, which the format cannot express, and OSError from the disk.

    >>> file = io.BytesIO()
    >>> save({"weight": tw.ones(2), "step": 7}, file)
    """
    data, segments = pickled(obj)
    if not _is_path(f):
        _write(f, "archive", data, segments)
        return
    root = os.path.splitext(os.path.basename(os.fspath(f)))[0]
    with replacing(f) as temporary, open(temporary, "wb") as file:
        _write(file, os.fsdecode(root) or "archive", data, segments)


def load(f, map_location=None, *, weights_only=True, mmap=False, encoding="utf-8"):
    """Loads what `save`, or PyTorch's `torch.save`, has written.

    f: a path, or a seekable file opened for binary reading.
    map_location: where the tensors go: None (where they were saved), a device or its name, a dict from saved to
        wanted names, or a function (bytes of a storage as a uint8 tensor, saved name) -> such a tensor or None.
    weights_only: allow only the table of safe globals (safe.py). With False the file can run any code: only for
        files you trust.
    mmap: map the file into memory instead of reading it; f must be a path. Pages are read when first used, and
        writing to the tensors does not change the file.
    encoding: of strings that Python 2 wrote.

    Raises UnsafeGlobalError (a ValueError and a pickle.UnpicklingError) for a name that is not allowed, ValueError for
    a damaged or foreign file.

    >>> file = io.BytesIO()
    >>> save({"weight": tw.ones(2), "step": 7}, file)
    >>> _ = file.seek(0)
    >>> load(file, map_location="cpu")
    {'weight': tensor([1., 1.]), 'step': 7}
    """
    if mmap and not _is_path(f):
        raise ValueError(f"load: mmap=True needs a path, got {type(f).__name__}")
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(f, "rb")) if _is_path(f) else _seekable(f)
        start = file.tell()
        magic = file.read(len(_ZIP_MAGIC))
        file.seek(start)
        if magic == _ZIP_MAGIC:
            return _load_zip(file, map_location, weights_only, mmap, encoding)
        if mmap:
            raise ValueError("load: mmap=True needs the zip format, this file has an older one")
        return legacy.load(file, map_location, weights_only, encoding)


def _is_path(f):
    return isinstance(f, (str, bytes, os.PathLike))


def _seekable(f):
    for method in ("read", "seek", "tell"):
        if not hasattr(f, method):
            raise TypeError(f"load: a path or a binary file is wanted, got {type(f).__name__}")
    return f if hasattr(f, "readinto") else io.BytesIO(f.read())


def _write(file, root, data, segments):
    archive = ArchiveWriter(file, root)
    archive.write("data.pkl", data)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(ALIGNMENT).encode())
    archive.write("byteorder", sys.byteorder.encode())
    for key, segment in enumerate(segments):
        archive.write(f"data/{key}", byte_view(segment.cpu()))
    archive.write("version", b"3\n")
    archive.close()


def _load_zip(file, map_location, weights_only, mmap, encoding):
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise ValueError("load: the file is a TorchScript program; save its state_dict instead")
    mapping = mmap_module.mmap(file.fileno(), 0, access=mmap_module.ACCESS_COPY) if mmap else None
    order = archive.read("byteorder").decode() if "byteorder" in archive else "little"

    def fetch(key, size):
        name = f"data/{key}"
        if archive.size(name) < size:
            raise ValueError(f"load: storage {key} holds {archive.size(name)} bytes, {size} are wanted")
        offset = archive.offset(name)
        if mapping is not None and offset is not None:
            return mapped_storage(mapping, offset, archive.size(name))
        return read_storage(archive.size(name), lambda view: archive.read_into(name, view))

    storages = Storages(fetch, map_location, swap=order != sys.byteorder)

    def load_persistent(pid):
        kind, storage_type, key, location, numel = pid
        if kind != "storage":
            raise ValueError(f"load: the checkpoint refers to something unknown: {kind!r}")
        return storages.get(key, storage_type.dtype, location, numel)

    return read_pickle(io.BytesIO(archive.read("data.pkl")), load_persistent, weights_only, encoding)
