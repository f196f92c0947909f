"""Sizes of a saved graph's inputs that may differ from call to call."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Dim", "Varying"]

_UNBOUNDED = 2**31 - 1
# A call is traced at some sizes far apart, and at so many neighbours that quotients up to 16 show where they step.
_APART, _NEIGHBOURS = 4, 18
_LARGE = 4099  # stands for sizes without bound; nothing is allocated


class Dim:
    """A size that may differ between calls of a saved graph: what `tw.save_graph` takes in `dynamic_shapes`.

    Args:
        name: dims of the same name have the same size.
        min, max: the bounds, both included; max=None for none.

    Raises: ValueError for bounds that leave no choice.

    >>> import thalweg as tw
    >>> tw.Dim("batch", max=64)
    Dim('batch', min=1, max=64)
    """

    def __init__(self, name: str, *, min: int = 1, max: int | None = None) -> None:
        self.name, self.min, self.max = name, min, _UNBOUNDED if max is None else max
        if not 0 <= self.min < self.max <= _UNBOUNDED:
            raise ValueError(f"Dim: bounds 0 <= min < max are wanted for {name!r}, got {min} and {max}")

    def __repr__(self) -> str:
        return f"Dim({self.name!r}, min={self.min}, max={None if self.max == _UNBOUNDED else self.max})"


class Varying:
    """Which dims of which inputs vary, and the sizes at which a call is traced to find out how it depends on them."""

    def __init__(self, dynamic_shapes: Mapping[str, Any] | None) -> None:
        self.dims: dict[str, Dim] = {}
        self._asked = {name: self._by_dim(name, shape) for name, shape in (dynamic_shapes or {}).items()}
        self._places: dict[str, list[tuple[int, int]]] = {name: [] for name in self.dims}
        self._example: dict[str, int] = {}

    def _by_dim(self, input: str, shape: Any) -> dict[int, str]:
        items = dict(shape) if isinstance(shape, Mapping) else dict(enumerate(shape))
        return {dim: self._named(input, size) for dim, size in items.items() if size is not None}

    def _named(self, input: str, size: Any) -> str:
        new = Dim(size) if isinstance(size, str) else size
        if not isinstance(new, Dim):
            raise TypeError(f"save_graph: dynamic_shapes[{input!r}]: a Dim or a name is wanted, got {size!r}")
        known = self.dims.setdefault(new.name, new)
        if not isinstance(size, str) and (known.min, known.max) != (new.min, new.max):
            raise ValueError(f"save_graph: {known} and {new} have one name and other bounds")
        return new.name

    def see(self, inputs: Mapping[str, Sequence[int]]) -> None:
        """Learns the inputs of the example, by name; raises ValueError where they do not fit."""
        for unknown in self._asked.keys() - inputs.keys():
            raise ValueError(f"save_graph: dynamic_shapes names {unknown!r}, but the inputs are {list(inputs)}")
        for number, (name, shape) in enumerate(inputs.items()):
            for dim, symbol in self._asked.get(name, {}).items():
                if not 0 <= dim < len(shape):
                    raise ValueError(f"save_graph: dynamic_shapes[{name!r}]: there is no dim {dim} of {list(shape)}")
                self._places[symbol].append((number, dim))
                self._see_size(symbol, shape[dim])

    def _see_size(self, symbol: str, size: int) -> None:
        bounds = self.dims[symbol]
        if not bounds.min <= size <= bounds.max:
            raise ValueError(f"save_graph: the example has {symbol} = {size}, which is not within {bounds}")
        if self._example.setdefault(symbol, size) != size:
            raise ValueError(f"save_graph: the example has {symbol} = {self._example[symbol]}, and {size} elsewhere")

    def symbols(self) -> list[tuple]:
        """(name, min, max, places) of each."""
        return [(dim.name, dim.min, dim.max, self._places[dim.name]) for dim in self.dims.values()]

    def resized(self, input: str, shape: Sequence[int], sizes: Mapping[str, int]) -> list[int]:
        """The shape of an input at other sizes."""
        named = self._asked.get(input, {})
        return [sizes[named[dim]] if dim in named else size for dim, size in enumerate(shape)]

    def fitted(self) -> list[dict[str, int]]:
        """Sizes to which rules are fitted: of as many traces as bounds allow, in which no symbol follows another."""
        draw = random.Random(0)
        columns = {name: self._choices(dim, draw) for name, dim in self.dims.items()}
        count = max(len(column) for column in columns.values())
        return [{name: column[i % len(column)] for name, column in columns.items()} for i in range(count)]

    @staticmethod
    def _choices(dim: Dim, draw: random.Random) -> list[int]:
        """In any order. Not the bounds, if there are others: ops that take parts are left out where these are whole."""
        inner = range(max(dim.min + 1, 2), min(dim.max, dim.min + 200))
        if len(inner) <= _APART + _NEIGHBOURS:
            few = list(inner) if len(inner) > 1 else [dim.min, *inner, dim.max]
            return draw.sample(few, len(few))
        start = draw.randrange(len(inner) - _NEIGHBOURS)
        chosen = {*inner[start : start + _NEIGHBOURS], *draw.sample(inner, _APART)}
        return draw.sample(sorted(chosen), len(chosen))

    def checked(self) -> list[dict[str, int]]:
        """The example's sizes, and the least and largest ones: results must have the shapes there that rules give."""
        least = {name: dim.min for name, dim in self.dims.items()}
        largest = {name: dim.max if dim.max < _UNBOUNDED else dim.min + _LARGE for name, dim in self.dims.items()}
        return [self._example, least, largest]
