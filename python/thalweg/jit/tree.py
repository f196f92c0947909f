"""Nested values in control flow: tensors and numbers apart from what is around them."""

from __future__ import annotations

from typing import Any

from thalweg._core._tensor import Tensor
from thalweg.jit.numbers import Number

__all__ = ["flatten", "is_number", "key_of", "unflatten"]


def is_number(value: Any) -> bool:
    return type(value) in (int, float, bool) or isinstance(value, Number)


class _Leaf:
    """The place of leaf `number`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class _Record:
    """A dataclass whose fields were flattened."""

    def __init__(self, like: Any, fields: list[tuple[str, Any]]) -> None:
        self.like, self.fields = like, fields

    def rebuild(self, values: dict[str, Any]) -> Any:
        result = object.__new__(type(self.like))
        for name, value in values.items():
            object.__setattr__(result, name, value)
        return result


def flatten(tree: Any, leaves: list) -> Any:
    """The tree with numbered places where it has tensors and numbers, which are appended to `leaves`.

    Lists, tuples, named tuples, dicts and dataclasses are looked into. What stands there twice gets two places.
    """
    if isinstance(tree, Tensor) or is_number(tree):
        leaves.append(tree)
        return _Leaf(len(leaves) - 1)
    if isinstance(tree, tuple):
        return _make_tuple(type(tree), [flatten(item, leaves) for item in tree])
    if isinstance(tree, list):
        return [flatten(item, leaves) for item in tree]
    if isinstance(tree, dict):
        return {key: flatten(value, leaves) for key, value in tree.items()}
    if hasattr(type(tree), "__dataclass_fields__"):
        return _Record(tree, [(name, flatten(getattr(tree, name), leaves)) for name in tree.__dataclass_fields__])
    return tree


def unflatten(tree: Any, leaves: list) -> Any:
    """Puts leaves into the places of a flattened tree."""
    if isinstance(tree, _Leaf):
        return leaves[tree.number]
    if isinstance(tree, _Record):
        return tree.rebuild({name: unflatten(value, leaves) for name, value in tree.fields})
    if isinstance(tree, tuple):
        return _make_tuple(type(tree), [unflatten(item, leaves) for item in tree])
    if isinstance(tree, list):
        return [unflatten(item, leaves) for item in tree]
    if isinstance(tree, dict):
        return {key: unflatten(value, leaves) for key, value in tree.items()}
    return tree


def key_of(tree: Any) -> Any:
    """What two flattened trees agree in where they differ in their leaves only."""
    if isinstance(tree, _Leaf):
        return ("leaf", tree.number)
    if isinstance(tree, _Record):
        return (type(tree.like), tuple((name, key_of(value)) for name, value in tree.fields))
    if isinstance(tree, (tuple, list)):
        return (type(tree), tuple(key_of(item) for item in tree))
    if isinstance(tree, dict):
        return (dict, tuple((name, key_of(value)) for name, value in tree.items()))
    return (type(tree), tree)


def _make_tuple(kind: type, items: list) -> Any:
    if kind is tuple:
        return tuple(items)
    if hasattr(kind, "_fields"):
        return kind(*items)
    return kind(items)  # a structseq of several results
