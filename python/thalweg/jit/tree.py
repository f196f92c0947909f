"""Nested arguments and results: tensors apart from what is around them."""

from __future__ import annotations

from typing import Any

from thalweg._core._tensor import Tensor

__all__ = ["flatten", "unflatten"]


class _Leaf:
    """The place of tensor `number`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def flatten(tree: Any, tensors: list[Tensor]) -> Any:
    """The tree with numbered places where it has tensors, which are appended to `tensors`.

    Lists, tuples, named tuples, dicts and dataclasses are looked into; the same tensor gets one place.
    """
    if isinstance(tree, Tensor):
        for i, known in enumerate(tensors):
            if known is tree:
                return _Leaf(i)
        tensors.append(tree)
        return _Leaf(len(tensors) - 1)
    if type(tree) in (int, float, str, bool, type(None)):
        return tree
    if isinstance(tree, tuple):
        items = [flatten(item, tensors) for item in tree]
        return _make_tuple(type(tree), items)
    if isinstance(tree, list):
        return [flatten(item, tensors) for item in tree]
    if isinstance(tree, dict):
        return {key: flatten(value, tensors) for key, value in tree.items()}
    if hasattr(type(tree), "__dataclass_fields__"):  # as dataclasses.is_dataclass, without its costly import
        return _Record(tree, [(name, flatten(getattr(tree, name), tensors)) for name in tree.__dataclass_fields__])
    return tree


def unflatten(tree: Any, tensors: list[Tensor]) -> Any:
    """Puts tensors back into the places of a flattened tree."""
    if isinstance(tree, _Leaf):
        return tensors[tree.number]
    if isinstance(tree, _Record):
        return tree.rebuild({name: unflatten(value, tensors) for name, value in tree.fields})
    if isinstance(tree, tuple):
        return _make_tuple(type(tree), [unflatten(item, tensors) for item in tree])
    if isinstance(tree, list):
        return [unflatten(item, tensors) for item in tree]
    if isinstance(tree, dict):
        return {key: unflatten(value, tensors) for key, value in tree.items()}
    return tree


class _Record:
    """A dataclass whose fields were flattened."""

    def __init__(self, like: Any, fields: list[tuple[str, Any]]) -> None:
        self.like, self.fields = like, fields

    def rebuild(self, values: dict[str, Any]) -> Any:
        result = object.__new__(type(self.like))
        for name, value in values.items():
            object.__setattr__(result, name, value)
        return result


def _make_tuple(kind: type, items: list) -> Any:
    if kind is tuple:
        return tuple(items)
    if hasattr(kind, "_fields"):
        return kind(*items)
    return kind(items)  # a structseq of several results


def key_of(tree: Any) -> Any:
    """A flattened tree as a hashable key: two calls with equal keys differ in their tensors only."""
    if isinstance(tree, _Leaf):
        return ("tensor", tree.number)
    if isinstance(tree, _Record):
        return (type(tree.like), tuple((name, key_of(value)) for name, value in tree.fields))
    if isinstance(tree, (tuple, list)):
        return (type(tree), tuple(key_of(item) for item in tree))
    if isinstance(tree, dict):
        return (dict, tuple((name, key_of(value)) for name, value in tree.items()))
    return (type(tree), tree)
