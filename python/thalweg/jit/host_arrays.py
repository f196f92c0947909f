"""Arrays that NumPy draws in a traced function: drawn anew in every call, and what NumPy makes of them is made anew.

The function gets a `Drawn` instead of an array. NumPy's functions, operators and methods on it are host steps as the
draw is: a call does them before its program runs. Each step keeps its result in one piece of memory, which the tensors
made of it share with it, so that the program reads what is there now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._core import _native
from thalweg.jit.host import HostStep

__all__ = ["Computed", "Drawn", "take"]


class Drawn(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose values differ from call to call.

    Args:
        trace: the Trace that it belongs to.
        memory: where its values stand.
    """

    _enter_program = True  # tensors share its memory: see frontend/from_data.py

    def __init__(self, trace: Any, memory: np.ndarray) -> None:
        self._trace, self._memory = trace, memory

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """isinstance() takes it for what it stands for; type() tells."""
        return np.ndarray

    shape = property(lambda self: self._memory.shape)
    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        return len(self._memory)

    def __repr__(self) -> str:
        return f"Drawn({self._memory!r})"

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return self._computed(lambda index: self._memory[index], (index,))

    def __getattr__(self, name: str) -> Any:
        """A method of arrays that gives a new one, or a number."""
        if name.startswith("_") or not callable(getattr(self._memory, name)):
            raise AttributeError(name)
        if name in _IN_PLACE:
            self._refuse(f"{name}()")
        return lambda *args, **kwargs: self._computed(getattr(self._memory, name), args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None or method == "at":
            self._refuse(f"{ufunc.__name__} in place")
        return self._computed(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        if kwargs.get("out") is not None:
            self._refuse(f"{function.__name__} in place")
        return self._computed(function, args, kwargs)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse("writing to an item")

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._refuse("np.asarray")

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        return self.item().__index__()

    def _computed(self, function: Callable, args: tuple, kwargs: dict | None = None) -> Any:
        args, kwargs = _plain(args), _plain(kwargs or {})
        return self._trace.host(Computed(self._trace, lambda: function(*args, **kwargs)))

    def _refuse(self, what: str) -> None:
        raise NotImplementedError(
            f"numpy: {what} of an array that is drawn in a traced function; it would hold for one call only. Make a "
            "new array of it, make a tensor of it with tw.tensor, or draw it outside and give it to the function"
        )


_IN_PLACE = {"fill", "itemset", "partition", "put", "resize", "setfield", "setflags", "sort", "byteswap"}
_IN_PLACE |= {"tobytes", "tofile", "tolist", "dump", "dumps", "view", "getfield"}  # these show the values, or memory


def _plain(tree: Any) -> Any:
    if type(tree) is Drawn:
        return tree._memory
    if type(tree) in (list, tuple):
        return type(tree)(_plain(item) for item in tree)
    return {key: _plain(item) for key, item in tree.items()} if type(tree) is dict else tree


def take(held: Any, value: Any, trace: Any, name: str) -> Any:
    """What a host step has given, put where the one of the call before stands.

    Args:
        held: that place, as this function returned it; None in the trace.

    Returns: nested lists and tuples of `Drawn`s and of one-item lists for numbers.
    """
    if isinstance(value, (list, tuple)):
        olds = held or [None] * len(value)
        return [take(old, item, trace, name) for old, item in zip(olds, value, strict=True)]
    if isinstance(value, np.ndarray) and value.ndim > 0:
        if value.dtype.kind not in "biufc":
            raise NotImplementedError(f"{name}: numbers are wanted in a traced function, got dtype {value.dtype}")
        if held is None:
            return Drawn(trace, np.array(value))
        if held.shape != value.shape or held.dtype != value.dtype:
            raise NotImplementedError(
                f"{name}: in a traced function an array keeps its shape and dtype, got {value.shape}, {value.dtype} "
                f"after {held.shape}, {held.dtype}"
            )
        if trace.asynchronous:  # a step in flight may read it
            _native.synchronize()
        held._memory[...] = value
        return held
    number = value.item() if hasattr(value, "item") else value
    number = int(number) if isinstance(number, bool) else number
    if type(number) not in (int, float):
        raise NotImplementedError(f"{name}: numbers and arrays are wanted in a traced function, got {value!r}")
    if held is None:
        return [number]
    held[0] = number
    return held


class Computed(HostStep):
    """What NumPy makes of arrays that have been drawn."""

    def __init__(self, trace: Any, compute: Callable[[], Any]) -> None:
        self.name = "numpy"
        self.result: Any = None
        self._trace, self._compute = trace, compute

    def save(self) -> None:
        pass

    def run(self) -> None:
        self.result = take(self.result, self._compute(), self._trace, self.name)

    def undo(self) -> None:
        pass
