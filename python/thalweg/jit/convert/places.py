"""Where the user's code stands: errors of converted control flow name the file, the line and what is written there."""

from __future__ import annotations

import linecache
import sys
from typing import Any

__all__ = ["Place", "Undefined", "load"]


class Place:
    """A line of the user's code: that of the first caller outside of this package."""

    def __init__(self) -> None:
        frame: Any = sys._getframe(1)
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("thalweg.jit."):
            frame = frame.f_back
        self.file, self.line = frame.f_code.co_filename, frame.f_lineno

    def __str__(self) -> str:
        source = linecache.getline(self.file, self.line).strip()
        return f"{self.file}, line {self.line}:\n    {source}"

    def error(self, kind: type, text: str) -> Exception:
        return kind(f"{text}\n  at {self}")


class Undefined:
    """A name that has no value, and the reason: any use of it raises."""

    def __init__(self, name: str, reason: str = "") -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_reason", reason)

    def _raise(self, *_: Any, **__: Any) -> Any:
        if not self._reason:
            raise UnboundLocalError(f"local variable {self._name!r} referenced before assignment")
        raise UnboundLocalError(f"{self._name} has no value here: {self._reason}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by tools that look at modules, not by a user
            raise AttributeError(name)
        return self._raise()

    __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __add__ = __radd__ = __sub__ = _raise
    __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __pow__ = __neg__ = __lt__ = _raise
    __le__ = __gt__ = __ge__ = __index__ = __int__ = __float__ = _raise


def load(read: Any, name: str) -> Any:
    """The value of a name, or an `Undefined`."""
    try:
        return read()
    except (NameError, AttributeError):
        return Undefined(name)
