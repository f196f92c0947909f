"""Dicts of tensors as safetensors files: no pickle, no code, readable by every framework."""

import json
import mmap
import struct

from safetensors import SafetensorError, TensorSpec, safe_open, serialize_file

import thalweg as tw
from thalweg.io.files import replacing
from thalweg.io.names import dtype_of
from thalweg.io.raw import byte_view, dtype_name, tensor_over

# The format's codes -> names of dtypes. complex128 has no code.
_CODES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_WRITABLE = frozenset(_CODES.values())


def save_safetensors(tensors, path, metadata=None):
    """Saves a dict of tensors; the file appears, or is replaced, in one step.

    tensors: {name: tensor}. Each is written whole and contiguous, so tensors that share memory are written twice.
    metadata: {str: str} or None, kept in the file's head.

    Raises TypeError for a dtype that the format lacks (complex128).

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/model.safetensors"
    >>> save_safetensors({"weight": tw.ones(2)}, path, {"step": "100"})
    >>> safetensors_metadata(path)
    {'step': '100'}
    """
    specs, alive = {}, []
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, tw.Tensor):
            raise TypeError(f"save_safetensors: names and tensors are wanted, got {name!r}: {type(tensor).__name__}")
        dtype = dtype_name(tensor.dtype)
        if dtype not in _WRITABLE:
            raise TypeError(f"save_safetensors: tensor {name!r}: the format has no dtype {dtype}")
        data = tensor.detach().cpu().contiguous()
        alive.append(data)
        specs[name] = TensorSpec(
            dtype=dtype, shape=tuple(data.shape), data_ptr=data.data_ptr(), data_len=byte_view(data).nbytes
        )
    _check_metadata(metadata)
    with replacing(path) as temporary:
        serialize_file(specs, temporary, metadata=metadata)


def load_safetensors(path, device="cpu"):
    """Loads a safetensors file as {name: tensor}.

    The file is mapped into memory, not copied: pages are read when first used. The tensors can be written to; the
    file does not change.

    Raises ValueError for a file that is damaged or holds a dtype thalweg lacks.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/model.safetensors"
    >>> save_safetensors({"weight": tw.ones(2)}, path)
    >>> load_safetensors(path)
    {'weight': tensor([1., 1.])}
    """
    with open(path, "rb") as file:
        header, start = _read_header(path, file)
        mapping = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    tensors = {}
    for name, entry in header.items():
        dtype = dtype_of(_CODES.get(entry["dtype"], ""))
        if dtype is None:
            raise ValueError(f"load_safetensors: tensor {name!r} has dtype {entry['dtype']}, which thalweg lacks")
        begin, end = entry["data_offsets"]
        flat = tensor_over(mapping[start + begin : start + end], dtype)
        tensors[name] = flat.reshape(entry["shape"]).to(device)
    return tensors


def safetensors_metadata(path):
    """The metadata that a safetensors file was saved with, {} where there is none."""
    try:
        with safe_open(path, framework="numpy") as handle:
            return handle.metadata() or {}
    except SafetensorError as error:
        raise ValueError(f"safetensors_metadata: {path}: {error}") from error


def _read_header(path, file):
    """The tensors' entries, in the order they lie in the file, and where their bytes start."""
    try:
        # Opening checks everything: the head, that shapes fit sizes, that nothing overlaps or lies outside.
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError as error:
        raise ValueError(f"load_safetensors: {path}: {error}") from error
    (size,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    entries = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
    return dict(entries), 8 + size


def _check_metadata(metadata):
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"save_safetensors: metadata maps strings to strings, got {key!r}: {value!r}")
