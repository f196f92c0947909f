"""Nested arguments and results of saved graphs: names for their tensors, and results as JSON."""

from __future__ import annotations

import collections
import copy
import keyword
from collections.abc import Callable
from typing import Any

from thalweg._core._tensor import Tensor

__all__ = ["decode", "encode", "replace_tensors"]


def _join(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def replace_tensors(tree: Any, path: str, replace: Callable[[str, Tensor], Tensor]) -> Any:
    """A copy of nested lists, tuples, dicts and dataclasses with `replace(path, tensor)` for each tensor.

    A path such as "batch.0" says where the tensor stands. Everything else stays the same object.
    """
    if isinstance(tree, Tensor):
        return replace(path, tree)
    if isinstance(tree, dict):
        return {key: replace_tensors(item, _join(path, key), replace) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        names = getattr(tree, "_fields", range(len(tree)))
        items = [replace_tensors(item, _join(path, name), replace) for name, item in zip(names, tree)]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if hasattr(type(tree), "__dataclass_fields__"):
        result = copy.copy(tree)
        for name in tree.__dataclass_fields__:
            object.__setattr__(result, name, replace_tensors(getattr(tree, name), _join(path, name), replace))
        return result
    return tree


def encode(tree: Any, path: str, tensors: list[Tensor], names: list[str]) -> Any:
    """Nested results as JSON holds them, with numbers for their tensors; appends these and their paths.

    Raises TypeError for what is no tensor, number, string or None, nor a list, tuple or dict of them.
    """
    if isinstance(tree, Tensor):
        for i, known in enumerate(tensors):
            if known is tree:
                return {"tensor": i}
        tensors.append(tree)
        names.append(path or "result")
        return {"tensor": len(tensors) - 1}
    if type(tree) in (int, float, str, bool, type(None)):
        return {"value": tree}
    if type(tree) is dict and all(type(key) in (int, float, str, bool, type(None)) for key in tree):
        return {"dict": [[key, encode(item, _join(path, key), tensors, names)] for key, item in tree.items()]}
    fields = getattr(tree, "_fields", None) or _fields_of_results(tree)
    if fields:
        items = [encode(item, _join(path, name), tensors, names) for name, item in zip(fields, tree)]
        return {"named": type(tree).__name__, "fields": list(fields), "items": items}
    if type(tree) in (list, tuple):
        items = [encode(item, _join(path, i), tensors, names) for i, item in enumerate(tree)]
        return {type(tree).__name__: items}
    raise TypeError(
        "save_graph: results may be tensors, numbers, strings, None, and lists, tuples and dicts of them, "
        f"got {type(tree).__name__}{f' at {path}' if path else ''}"
    )


def _fields_of_results(tree: Any) -> list[str] | None:
    """The names of the results of an op with several, such as `values` and `indices`."""
    if not hasattr(type(tree), "n_sequence_fields"):
        return None
    return [name for name, item in vars(type(tree)).items() if type(item).__name__ == "member_descriptor"]


def decode(data: Any, tensors: list[Tensor]) -> Any:
    """What `encode` was given, with other tensors; named results become named tuples. Raises ValueError."""
    if isinstance(data, dict):
        if "tensor" in data and type(data["tensor"]) is int and 0 <= data["tensor"] < len(tensors):
            return tensors[data["tensor"]]
        if "value" in data:
            return data["value"]
        if "dict" in data:
            return {key: decode(item, tensors) for key, item in data["dict"]}
        if "named" in data:
            return _named(data["named"], tuple(data["fields"]))(*[decode(item, tensors) for item in data["items"]])
        if "list" in data:
            return [decode(item, tensors) for item in data["list"]]
        if "tuple" in data:
            return tuple(decode(item, tensors) for item in data["tuple"])
    raise ValueError(f"a tensor, a value, a list, a tuple or a dict is wanted, got {data!r}")


_named_types: dict[tuple, type] = {}


def _named(name: str, fields: tuple[str, ...]) -> type:
    if not all(type(word) is str and word.isidentifier() and not keyword.iskeyword(word) for word in (name, *fields)):
        raise ValueError(f"names are wanted, got {name!r} and {fields!r}")
    if (name, fields) not in _named_types:
        _named_types[name, fields] = collections.namedtuple(name, fields)  # type: ignore[misc]
    return _named_types[name, fields]
