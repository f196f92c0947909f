"""The pickle of a checkpoint, written with PyTorch's names and without PyTorch.

Where a tensor lies in the file is known only when all tensors have been seen (layout.py). So the pickle is a list of
chunks, in which a tensor leaves a slot; `finish` lays out the tensors and fills the slots.
"""

import pickle
import struct
from types import SimpleNamespace

import thalweg as tw
from thalweg.io.layout import lay_out
from thalweg.io.names import DTYPE_STORAGES
from thalweg.io.raw import dtype_name

# PyTorch's default, which every version of it reads. Protocol 2 has no frames, so chunks can be filled in later.
PROTOCOL = 2


def pickled(obj):
    """Pickles `obj`: (bytes, segments), the segments flat contiguous tensors in the order of their keys."""
    pickler = CheckpointPickler()
    pickler.dump(obj)
    return pickler.finish()


class CheckpointPickler(pickle._Pickler):
    """Python's own pickler, in Python because the one in C writes only names that it can import."""

    def __init__(self):
        self._chunks = []
        self._tensors = []  # kept alive: addresses tell which of them share memory
        super().__init__(SimpleNamespace(write=self._chunks.append), PROTOCOL)

    def finish(self):
        placements, segments = lay_out(self._tensors)
        done = [c if isinstance(c, bytes) else self._tensor_arguments(c, placements[c]) for c in self._chunks]
        return b"".join(done), segments

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, tw.Tensor) and id(obj) not in self.memo:
            self._save_tensor(obj)
        elif isinstance(obj, tw.dtype):
            self.write(_name("torch", dtype_name(obj)))
        elif isinstance(obj, tw.Size):
            self._save_call("torch", "Size", (tuple(obj),))
        elif isinstance(obj, tw.device):
            self._save_call("torch", "device", (obj.type,) if obj.index is None else (obj.type, obj.index))
        else:
            super().save(obj, save_persistent_id)

    def _save_call(self, module, name, arguments):
        self.write(_name(module, name))
        self.save(arguments)
        self.write(pickle.REDUCE)

    def _save_tensor(self, tensor):
        state = getattr(tensor, "__dict__", None)
        if type(tensor) is tw.nn.Parameter:
            self._save_parameter(tensor, state)
        elif type(tensor) is tw.Tensor and not state:
            self.write(_name("torch._utils", "_rebuild_tensor_v2"))
            self._reserve(tensor)
            self.write(pickle.REDUCE)
        else:
            self._save_typed(tensor, state)
        self.memoize(tensor)

    def _save_parameter(self, parameter, state):
        self.write(_name("torch._utils", "_rebuild_parameter_with_state" if state else "_rebuild_parameter"))
        self.write(pickle.MARK + _name("torch._utils", "_rebuild_tensor_v2"))
        self._reserve(parameter.detach())
        self.write(pickle.REDUCE + _bool(parameter.requires_grad) + _NO_HOOKS)
        if state:
            self.save(dict(state))
        self.write(pickle.TUPLE + pickle.REDUCE)

    def _save_typed(self, tensor, state):
        """A tensor of a subclass, or one with attributes of its own."""
        self.write(_name("torch._tensor", "_rebuild_from_type_v2") + pickle.MARK)
        self.write(_name("torch._utils", "_rebuild_tensor_v2"))
        if type(tensor) is tw.Tensor:
            self.write(_name("torch", "Tensor"))
        else:
            self.save(type(tensor))
        self._reserve(tensor)
        self.save(dict(state or {}))
        self.write(pickle.TUPLE + pickle.REDUCE)

    def _reserve(self, tensor):
        """Leaves the slot for the arguments of `_rebuild_tensor_v2`: the tensor's number."""
        self._tensors.append(tensor)
        self._chunks.append(len(self._tensors) - 1)

    def _tensor_arguments(self, number, placement):
        tensor = self._tensors[number]
        dtype = dtype_name(tensor.dtype)
        if dtype not in DTYPE_STORAGES:
            raise TypeError(f"save: the file format has no storage for dtype {dtype}")
        storage = (
            pickle.MARK
            + _text("storage")
            + _name("torch", DTYPE_STORAGES[dtype])
            + _text(str(placement.key))
            + _text(str(tensor.device))
            + _integer(placement.numel)
            + pickle.TUPLE
            + pickle.BINPERSID
        )
        geometry = _integer(placement.offset) + _integers(tensor.shape) + _integers(placement.stride)
        return pickle.MARK + storage + geometry + _bool(tensor.requires_grad) + _NO_HOOKS + pickle.TUPLE


def _name(module, name):
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _text(text):
    data = text.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def _bool(value):
    return pickle.NEWTRUE if value else pickle.NEWFALSE


def _integer(value):
    if 0 <= value < 2**31:
        return pickle.BININT + struct.pack("<i", value)
    data = pickle.encode_long(value)
    return pickle.LONG1 + bytes([len(data)]) + data


def _integers(values):
    return pickle.MARK + b"".join(map(_integer, values)) + pickle.TUPLE


_NO_HOOKS = _name("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE
