"""What a checkpoint may name when it is loaded with `weights_only=True`.

The table: tensors, parameters, storages and dtypes under PyTorch's names, `torch.Size`, `torch.device`, and of
Python `OrderedDict`, `Counter`, `set`, `frozenset`, `bytes`, `bytearray`, `complex`. Numbers, strings, lists, tuples
and dicts name nothing. Everything else is refused by name until `add_safe_globals` allows it.
"""

import contextlib
import pickle
from collections import Counter, OrderedDict

_added: dict = {}


class UnsafeGlobalError(ValueError, pickle.UnpicklingError):
    """A checkpoint names something that is not in the table of safe globals."""


class Allowed:
    """Stands in for an allowed callable while a pickle is read.

    A pickle can set attributes of the objects it names. This one can be called, and has none that can be set.
    """

    __slots__ = ("target",)

    def __init__(self, target):
        object.__setattr__(self, "target", target)

    def __call__(self, *args):
        return self.target(*args)

    def __setattr__(self, name, value):
        raise UnsafeGlobalError(f"load: a checkpoint may not set attribute {name!r} of {self.target!r}")


def _latin1_bytes(text, encoding):
    # Protocol 2 has no bytes: Python writes them as a call of `_codecs.encode`.
    if type(text) is not str or encoding != "latin1":
        raise UnsafeGlobalError(f"load: _codecs.encode is allowed for latin1 text only, got {encoding!r}")
    return text.encode("latin1")


def _no_bytes():
    return b""


PYTHON_GLOBALS = {
    "collections.OrderedDict": Allowed(OrderedDict),
    "collections.Counter": Allowed(Counter),
    "builtins.set": Allowed(set),
    "builtins.frozenset": Allowed(frozenset),
    "builtins.bytes": Allowed(_no_bytes),
    "builtins.bytearray": Allowed(bytearray),
    "builtins.complex": Allowed(complex),
    "_codecs.encode": Allowed(_latin1_bytes),
}


def _key_and_value(item):
    if isinstance(item, tuple):
        if len(item) != 2 or not callable(item[0]) or not isinstance(item[1], str):
            raise TypeError(f"add_safe_globals: a tuple must be (callable, 'module.name'), got {item!r}")
        return item[1], item[0]
    if not callable(item) or not hasattr(item, "__qualname__"):
        raise TypeError(f"add_safe_globals: a class or function is wanted, got {item!r}")
    return f"{item.__module__}.{item.__qualname__}", item


def add_safe_globals(items):
    """Allows classes and functions in checkpoints loaded with `weights_only=True`.

    items: a list of classes or functions, or of (object, "module.name") where the file names it differently.
    A class allowed here is trusted: its `__init__`, `__setstate__` and the like run with data from the file.
    """
    _added.update([_key_and_value(item) for item in items])


def get_safe_globals():
    """The classes and functions that `add_safe_globals` has allowed."""
    return list(_added.values())


def clear_safe_globals():
    """Forgets everything that `add_safe_globals` has allowed."""
    _added.clear()


@contextlib.contextmanager
def safe_globals(items):
    """`add_safe_globals` for the length of a `with` block."""
    before = dict(_added)
    add_safe_globals(items)
    try:
        yield
    finally:
        _added.clear()
        _added.update(before)


def added_global(key):
    return _added.get(key)
