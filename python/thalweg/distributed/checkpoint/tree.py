"""Nested state as a flat table of tensors and a tree that JSON can hold."""

import math

import thalweg as tw

# Nodes that JSON has no form for are dicts with one of these as their only key.
_TENSOR, _TUPLE, _PAIRS, _FLOAT = "$tensor", "$tuple", "$pairs", "$float"


def flatten(value, path=()):
    """(tree, {key: tensor}): keys are the paths to the tensors, joined by dots.

    Raises TypeError for what is neither a tensor, a plain container, a string, a number, a bool nor None.
    """
    tensors = {}
    return _flatten(value, tuple(path), tensors), tensors


def _flatten(value, path, tensors):
    if isinstance(value, tw.Tensor):
        key = ".".join(map(str, path))
        if key in tensors:
            raise ValueError(f"checkpoint.save: two tensors have the name {key!r}")
        tensors[key] = value
        return {_TENSOR: key}
    if isinstance(value, dict):
        pairs = [[_key(key, path), _flatten(item, (*path, key), tensors)] for key, item in value.items()]
        plain = all(isinstance(key, str) and not key.startswith("$") for key in value)
        return dict(pairs) if plain else {_PAIRS: pairs}
    if isinstance(value, (list, tuple)):
        items = [_flatten(item, (*path, number), tensors) for number, item in enumerate(value)]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"checkpoint.save: tensors, containers, numbers and strings are wanted, got {type(value).__name__} at "
        f"{'.'.join(map(str, path))!r}"
    )


def _key(key, path):
    if isinstance(key, (str, int)):
        return key
    raise TypeError(f"checkpoint.save: keys that are strings or ints are wanted, got {key!r} in {'.'.join(path)!r}")


def unflatten(tree, tensor_of, path=()):
    """The nested state of a tree; tensor_of(key, path) makes its tensors."""
    if isinstance(tree, list):
        return [unflatten(item, tensor_of, (*path, number)) for number, item in enumerate(tree)]
    if not isinstance(tree, dict):
        return tree
    kind = next(iter(tree)) if len(tree) == 1 else None
    if kind == _TENSOR:
        return tensor_of(tree[_TENSOR], path)
    if kind == _TUPLE:
        return tuple(unflatten(item, tensor_of, (*path, number)) for number, item in enumerate(tree[_TUPLE]))
    if kind == _FLOAT:
        return float(tree[_FLOAT])
    pairs = tree[_PAIRS] if kind == _PAIRS else tree.items()
    return {key: unflatten(item, tensor_of, (*path, key)) for key, item in pairs}
