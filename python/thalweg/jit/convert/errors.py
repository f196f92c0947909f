"""What is wrong with a function, said with the user's line."""

from __future__ import annotations

import linecache
from typing import Any

from thalweg.jit.convert.places import Undefined

__all__ = ["check_result", "with_place"]

_VALUE_READ = "item: a traced function cannot read the value of a tensor"
_WAY_OUT = (
    "Where it decides something in an `if`, a `while` or a `for`, write that in a function that stands in a file: "
    "it is converted. Elsewhere use tw.cond, tw.while_loop or tw.scan; for an element, indexing"
)


def with_place(error: Exception) -> Exception:
    """The error of a trace, with the line of the user's code that it comes from where that is not said yet."""
    text = str(error)
    if not text.startswith(_VALUE_READ) or "\n  at " in text:
        return error
    place = None
    traceback = error.__traceback__
    while traceback:
        frame: Any = traceback.tb_frame
        if not frame.f_globals.get("__name__", "").startswith("thalweg."):
            place = frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    if place is None:
        return error
    source = linecache.getline(*place).strip()
    return type(error)(f"{text}\n  at {place[0]}, line {place[1]}:\n    {source}\n{_WAY_OUT}")


def check_result(value: Any) -> None:
    """Raises where a name without a value is returned, or an array that is another one in every call."""
    if isinstance(value, Undefined):
        value._raise()
    elif hasattr(type(value), "_enter_program"):  # see jit/host_arrays.py
        raise TypeError(
            "a traced function returns an array that NumPy draws in every call, in memory that every call fills anew: "
            "return a tensor of it, tw.tensor(array)"
        )
    elif isinstance(value, (tuple, list)):
        for item in value:
            check_result(item)
    elif isinstance(value, dict):
        for item in value.values():
            check_result(item)
