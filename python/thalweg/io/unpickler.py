"""Reading the pickle of a checkpoint: PyTorch's names become thalweg's objects, unknown ones are refused."""

import pickle

import thalweg as tw
from thalweg.io.names import STORAGE_DTYPES, dtype_of
from thalweg.io.safe import PYTHON_GLOBALS, Allowed, UnsafeGlobalError, added_global


class StorageType:
    """Stands for one of PyTorch's storage classes."""

    __slots__ = ("_dtype",)

    def __init__(self, dtype):
        object.__setattr__(self, "_dtype", dtype)

    @property
    def dtype(self):
        return self._dtype

    def __setattr__(self, name, value):
        raise UnsafeGlobalError(f"load: a checkpoint may not set attribute {name!r} of a storage type")


def rebuild_tensor(flat, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    """A tensor over `flat`, the 1-d tensor of its whole storage; refuses what would reach outside it."""
    if not isinstance(flat, tw.Tensor) or flat.dim() != 1:
        raise ValueError("load: a tensor in the checkpoint has no storage")
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride) or not all(type(n) is int and n >= 0 for n in (offset, *size, *stride)):
        raise ValueError(f"load: bad tensor geometry: offset {offset}, size {size}, stride {stride}")
    empty = 0 in size
    reach = offset + (0 if empty else 1 + sum((n - 1) * step for n, step in zip(size, stride)))
    if reach > flat.numel():
        raise ValueError(
            f"load: a tensor reaches outside its storage of {flat.numel()} elements: "
            f"offset {offset}, size {size}, stride {stride}"
        )
    # `as_strided` counts from the start of the memory, where `flat` need not begin.
    tensor = flat.as_strided(size, stride, flat.storage_offset() + offset).detach()
    metadata = metadata or {}
    if metadata.get("conj"):
        tensor = tensor.conj()
    if metadata.get("neg"):
        tensor = -tensor
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_tensor_v1(flat, offset, size, stride):
    return rebuild_tensor(flat, offset, size, stride)


def _rebuild_tensor_v3(flat, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    return rebuild_tensor(flat.view(dtype), offset, size, stride, requires_grad, hooks, metadata)


def _rebuild_parameter(data, requires_grad, hooks):
    return tw.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    return _with_attributes(tw.nn.Parameter(data, requires_grad), state)


def _rebuild_from_type(rebuild, kind, arguments, state):
    tensor = rebuild(*arguments)
    kind = kind.target if isinstance(kind, Allowed) else kind
    if type(tensor) is not kind:
        tensor = tw.nn.Parameter(tensor) if kind is tw.nn.Parameter else tensor.as_subclass(kind)
    return _with_attributes(tensor, state)


def _with_attributes(tensor, state):
    # Straight into the instance's own dict: a file must not reach the setters of the class.
    attributes = state[0] if isinstance(state, tuple) else state
    if attributes:
        vars(tensor).update(attributes)
    return tensor


def _torch_globals():
    table = {
        "torch._utils._rebuild_tensor": Allowed(_rebuild_tensor_v1),
        "torch._utils._rebuild_tensor_v2": Allowed(rebuild_tensor),
        "torch._utils._rebuild_tensor_v3": Allowed(_rebuild_tensor_v3),
        "torch._utils._rebuild_parameter": Allowed(_rebuild_parameter),
        "torch._utils._rebuild_parameter_with_state": Allowed(_rebuild_parameter_with_state),
        "torch._tensor._rebuild_from_type_v2": Allowed(_rebuild_from_type),
        "torch.Tensor": Allowed(tw.Tensor),
        "torch.nn.parameter.Parameter": Allowed(tw.nn.Parameter),
        "torch.Size": Allowed(tw.Size),
        "torch.device": Allowed(tw.device),
        "torch.storage.UntypedStorage": StorageType(tw.uint8),
    }
    for storage, dtype in STORAGE_DTYPES.items():
        table[f"torch.{storage}"] = StorageType(getattr(tw, dtype))
        # The oldest files name the class of a tensor, `torch.FloatTensor`, too; nothing is done with it.
        table[f"torch.{storage.replace('Storage', 'Tensor')}"] = StorageType(getattr(tw, dtype))
    return table


def read_pickle(file, load_persistent, weights_only, encoding="utf-8"):
    """Reads one pickle from a file and leaves the file after it.

    load_persistent: called with the id of an object that lies outside the pickle (a storage), returns the object.
    What goes wrong because the data is damaged is a ValueError, or a MemoryError where it asks for huge objects.
    """
    try:
        return _CheckpointUnpickler(file, load_persistent, weights_only, encoding).load()
    except (
        ValueError,
        pickle.UnpicklingError,
        EOFError,
        ArithmeticError,
        AttributeError,
        TypeError,
        LookupError,
    ) as error:
        if isinstance(error, ValueError) and str(error).startswith("load: "):
            raise
        raise ValueError(f"load: the checkpoint cannot be read: {type(error).__name__}: {error}") from error


class _CheckpointUnpickler(pickle.Unpickler):
    def __init__(self, file, load_persistent, weights_only, encoding):
        super().__init__(file, encoding=encoding)
        self._load_persistent = load_persistent
        self._weights_only = weights_only
        self._torch_globals = _torch_globals()

    def persistent_load(self, pid):
        return self._load_persistent(pid)

    def find_class(self, module, name):
        # Protocol 2 uses Python 2's name for the module of the built-in types.
        key = f"{'builtins' if module == '__builtin__' else module}.{name}"
        if key in self._torch_globals:
            return self._torch_globals[key]
        if module == "torch":
            dtype = dtype_of(name)
            if dtype is not None:
                return dtype
        if not self._weights_only:
            return super().find_class(module, name)
        found = PYTHON_GLOBALS.get(key) or added_global(key)
        if found is None:
            raise UnsafeGlobalError(
                f"load: the checkpoint names {key}, which is not in the table of safe globals. Allow it with "
                "tw.io.add_safe_globals, or, if you trust the file to run code, load it with weights_only=False"
            )
        return found
