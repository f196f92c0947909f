"""Modules that hold modules: in sequence, by index, by key."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Mapping
from itertools import chain

from thalweg.nn.module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _ModuleSequence(Module):
    """What Sequential and ModuleList share: submodules named "0", "1", ..."""

    def _position(self, index):
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self._get_name()}: an index within {len(self)} modules is wanted, got {index}")
        return index % len(self)

    def _key(self, index):
        return list(self._modules)[self._position(index)]

    def _rebuild(self, modules):
        self._modules.clear()
        for position, module in enumerate(modules):
            self.register_module(str(position), module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index, module):
        self.register_module(self._key(index), module)

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._rebuild(list(self._modules.values()))

    def append(self, module):
        """Adds `module` at the end; returns the container."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds all of `modules` at the end; returns the container."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        """Adds `module` before `index`; returns the container."""
        if not isinstance(module, Module):
            raise TypeError(f"insert: a Module is wanted, got {type(module).__name__}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"{self._get_name()}: an index within {len(self)} modules is wanted, got {index}")
        modules = list(self)
        modules.insert(index, module)
        self._rebuild(modules)
        return self

    def pop(self, index=-1):
        """Removes and returns the module at `index`."""
        module = self[index]
        del self[index]
        return module


class Sequential(_ModuleSequence):
    """Passes its input through modules in turn.

    Args: the modules, or one OrderedDict of modules by name.

    >>> import thalweg as tw
    >>> model = tw.nn.Sequential(tw.nn.Linear(3, 4), tw.nn.ReLU())
    >>> tuple(model(tw.ones(2, 3)).shape)
    (2, 4)
    """

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.register_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _of(self, items):
        return type(self)(OrderedDict(items))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise TypeError(f"Sequential +: a Sequential is wanted, got {type(other).__name__}")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise TypeError(f"Sequential +=: a Sequential is wanted, got {type(other).__name__}")
        return self.extend(other)

    def __mul__(self, times):
        return Sequential(*list(self) * _positive(times))

    __rmul__ = __mul__

    def __imul__(self, times):
        return self.extend(list(self) * (_positive(times) - 1))


def _positive(times):
    if not isinstance(times, int):
        raise TypeError(f"Sequential *: an int is wanted, got {type(times).__name__}")
    if times <= 0:
        raise ValueError(f"Sequential *: a positive int is wanted, got {times}")
    return times


class ModuleList(_ModuleSequence):
    """A list of modules; it has no forward of its own.

    >>> import thalweg as tw
    >>> layers = tw.nn.ModuleList(tw.nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _of(self, items):
        return type(self)(module for _, module in items)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(chain(self, other))


class ModuleDict(Module):
    """Modules by name, in the order of insertion; it has no forward of its own.

    >>> import thalweg as tw
    >>> heads = tw.nn.ModuleDict({"a": tw.nn.Linear(2, 1), "b": tw.nn.Identity()})
    >>> list(heads)
    ['a', 'b']
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.register_module(key, module)

    def __delitem__(self, key):
        delattr(self, key)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key):
        """Removes and returns the module named `key`."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def values(self):
        """The modules."""
        return self._modules.values()

    def items(self):
        """Pairs of name and module."""
        return self._modules.items()

    def update(self, modules):
        """Adds a mapping's, or a sequence of pairs', modules, replacing those of the same name."""
        for key, module in modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules:
            self[key] = module
