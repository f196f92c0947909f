"""Modules that hold parameters: by index, by key."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Mapping

import thalweg as tw
from thalweg.nn.module import Module
from thalweg.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


class ParameterDict(Module):
    """Values by name, in the order of insertion; tensors become parameters, others are kept as they are.

    >>> import thalweg as tw
    >>> table = tw.nn.ParameterDict({"scale": tw.ones(2)})
    >>> isinstance(table["scale"], tw.nn.Parameter)
    True
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _to_name(self, key):
        if not isinstance(key, str):
            raise TypeError(f"{self._get_name()}: a string is wanted as key, got {type(key).__name__}")
        # Names that the class itself uses ("values", "training") are kept out of the way.
        return f"_{key}" if hasattr(type(self), key) or key in ("training", "_keys") else key

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, self._to_name(key))

    def __setitem__(self, key, value):
        name = self._to_name(key)
        self._keys[key] = None
        if isinstance(value, tw.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._to_name(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return self._keys.keys()

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def items(self):
        """Pairs of name and value."""
        return ((key, self[key]) for key in self._keys)

    def get(self, key, default=None):
        """The value named `key`, or `default`."""
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """The value named `key`, which becomes `default` where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Removes and returns the value named `key`."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Removes and returns the last pair."""
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self):
        """Removes all values."""
        for key in list(self._keys):
            del self[key]

    def copy(self):
        """A new ParameterDict of the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys, default=None):
        """A new ParameterDict of `keys`, all with the value `default`."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters):
        """Adds a mapping's, or a sequence of pairs', values, replacing those of the same name."""
        for key, value in parameters.items() if isinstance(parameters, (Mapping, ParameterDict)) else parameters:
            self[key] = value

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        result = ParameterDict(other)
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self

    def __repr__(self):
        lines = [f"  ({key}): {_describe(value)}" for key, value in self.items()]
        return "\n".join([f"{self._get_name()}(", *lines, ")"])


class ParameterList(Module):
    """A list of values; tensors become parameters, others are kept as they are.

    >>> import thalweg as tw
    >>> len(list(tw.nn.ParameterList([tw.ones(1), tw.ones(2)]).parameters()))
    2
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _position(self, index):
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"{self._get_name()}: an index within {self._size} values is wanted, got {index}")
        return str(index % self._size)

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(self._size))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(self._size)))
        return getattr(self, self._position(index))

    def __setitem__(self, index, value):
        self._put(self._position(index), value)

    def _put(self, name, value):
        if isinstance(value, tw.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def append(self, value):
        """Adds `value` at the end; returns the list."""
        self._put(str(self._size), value)
        self._size += 1
        return self

    def extend(self, values):
        """Adds all of `values` at the end; returns the list."""
        if isinstance(values, tw.Tensor):
            raise TypeError("extend: an iterable of values is wanted, got a Tensor")
        for value in list(values):
            self.append(value)
        return self

    def pop(self, index=-1):
        """Removes and returns the value at `index`."""
        position = int(self._position(index))
        values = list(self)
        value = values.pop(position)
        for name in range(self._size):
            delattr(self, str(name))
        self._size = 0
        self.extend(values)
        return value

    def __iadd__(self, values):
        return self.extend(values)

    def __repr__(self):
        lines = [f"  ({i}): {_describe(value)}" for i, value in enumerate(self)]
        return "\n".join([f"{self._get_name()}(", *lines, ")"])


def _describe(value):
    if not isinstance(value, tw.Tensor):
        return f"Object of type: {type(value).__name__}"
    sizes = "x".join(str(size) for size in value.shape)
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{value.dtype} of size {sizes}]"
