"""An `if` on a tensor: both branches are recorded, and what they make of the names around them is merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.jit.context import tracing
from thalweg.jit.convert.places import Place, Undefined
from thalweg.jit.regions import Again, Gradients, Recording, number_like, same_number, type_text, zeros_like_leaf
from thalweg.jit.tree import flatten, key_of, unflatten

__all__ = ["Branch", "Containers", "Nothing", "merge", "record_branches"]

# What a loop returns before a `return` in it has been reached. Where it has a value, a flag says so.
Nothing = Undefined("the result of the loop", "no iteration has returned")

_CONTAINERS = (list, dict, set)


class Containers:
    """Lists, dicts and sets that a branch or a body sees: a program cannot change them when it runs."""

    def __init__(self, values: Sequence) -> None:
        self._kept = [(value, value.copy()) for value in values if type(value) in _CONTAINERS]

    def changed(self) -> Any:
        """A container that has changed, or None; all are put back."""
        found = None
        for value, before in self._kept:
            same = len(value) == len(before)
            if same and type(value) is list:
                same = all(a is b for a, b in zip(value, before))
            elif same and type(value) is dict:
                same = all(key in before and before[key] is item for key, item in value.items())
            elif same:
                same = value == before
            if same:
                continue
            found = value
            value.clear()
            value.extend(before) if type(value) is list else value.update(before)
        return found


class Branch:
    """A branch that has been recorded: its region, and the values of names at its end."""

    def __init__(self, region: Any, before: Sequence, values: Sequence, gradients: Gradients) -> None:
        self.region, self.values = region, values
        self.changed = [
            value is not old and not (isinstance(value, Undefined) and isinstance(old, Undefined))
            for value, old in zip(values, before)
        ]
        self.trees, self.leaves = [], []
        given: list = []
        for value, changed in zip(values, self.changed):
            leaves: list = []
            self.trees.append(value if isinstance(value, Undefined) else flatten(value, leaves))
            self.leaves.append(leaves)
            if changed:
                given += [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        gradients.settle(region)
        region.finish(given)


def record_branches(
    place: Place, functions: tuple, begin: Callable, before: tuple, values: Callable, seen: Callable
) -> list[Branch]:
    """Records both branches, each after `begin()`; `values(returned)` are what counts at its end, for `before`."""
    gradients = Gradients()
    while True:
        gradients.prepare()
        branches = []
        try:
            for name, function in zip(("then", "else"), functions):
                begin()
                branches.append(_record_branch(place, name, function, before, values, seen, gradients))
            return branches
        except Again:
            continue


def _record_branch(
    place: Place,
    name: str,
    function: Callable,
    before: tuple,
    values: Callable,
    seen: Callable,
    gradients: Gradients,
) -> Branch:
    containers = Containers(seen())
    with Recording(name) as region:
        returned = function()
        after = values(returned)
        changed = containers.changed()
        if changed is not None:
            raise place.error(
                NotImplementedError,
                f"if: a {type(changed).__name__} of Python is changed in a branch that a tensor decides on. Give the "
                "name another value in the branch, or use a tensor",
            )
        try:
            return Branch(region, before, after, gradients)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            raise place.error(type(error), str(error)) from error


def merge(place: Place, pred: Tensor, names: Sequence[str], before: Sequence, yes: Branch, no: Branch) -> tuple:
    """The values of the names behind the `if`."""
    results: list = []  # (tree, leaves), with numbers of outputs for tensors
    count = 0
    for i, name in enumerate(name.removesuffix("+=") for name in names):
        if not (yes.changed[i] or no.changed[i]):
            results.append((before[i], []))
            continue
        sides = [(branch.region, branch.values[i], branch.leaves[i], branch.changed[i]) for branch in (yes, no)]
        undefined = [isinstance(value, Undefined) for _, value, _, _ in sides]
        if any(undefined):
            (defined,) = [side for side, missing in zip((yes, no), undefined) if not missing] or (None,)
            if defined is None:
                results.append((yes.values[i], []))
                continue
            leaves, count = _one_sided(sides, undefined, count)
            gap = Undefined(name, f"only one branch of the `if` gives it a value\n  at {place}")
            filled = any(value is Nothing for _, value, _, _ in sides)
            results.append((defined.trees[i], leaves) if filled else (gap, []))
            continue
        if problem := _difference(yes, no, i):
            count = _dropped(sides, count)
            results.append((Undefined(name, f"{problem}\n  at {place}"), []))
            continue
        leaves, count = _both_sides(sides, count)
        results.append((yes.trees[i], leaves))
    try:
        outputs = _native.finish_cond(tracing.current.tracer, pred, yes.region, no.region)
    except (RuntimeError, ValueError, TypeError) as error:
        raise place.error(type(error), str(error)) from error
    return tuple(
        unflatten(tree, [outputs[leaf.number] if isinstance(leaf, _Output) else leaf for leaf in leaves])
        if leaves
        else tree
        for tree, leaves in results
    )


class _Output:
    def __init__(self, number: int) -> None:
        self.number = number


def _same_trees(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        return bool(key_of(a) == key_of(b))
    except Exception:  # whatever comparing foreign objects raises: they are not known to be the same
        return False


def _one_sided(sides: list, undefined: list, count: int) -> tuple[list, int]:
    """The other branch gives zeros, which nobody reads."""
    leaves: list = []
    (side,) = [side for side, missing in zip(sides, undefined) if not missing]
    (other,) = [side for side, missing in zip(sides, undefined) if missing]
    for leaf in side[2]:
        if not isinstance(leaf, Tensor):
            leaves.append(leaf)
            continue
        if not side[3]:
            side[0].insert_result(count, leaf)
        other[0].insert_result(count, zeros_like_leaf(leaf))
        leaves.append(_Output(count))
        count += 1
    return leaves, count


def _difference(yes: Branch, no: Branch, i: int) -> str:
    """Why no program can choose between what a name is after the branches; empty where one can."""
    if not _same_trees(yes.trees[i], no.trees[i]):
        return f"it must be the same in structure after both branches, got {yes.values[i]!r} and {no.values[i]!r}"
    for a, b in zip(yes.leaves[i], no.leaves[i]):
        both = isinstance(a, Tensor) and isinstance(b, Tensor)
        differ = both and (a.dtype != b.dtype or a.shape != b.shape)
        if differ or (not both and any(isinstance(leaf, Tensor) and leaf.dim() for leaf in (a, b))):
            return f"it must have the same dtype and shape after both branches, got {type_text(a)} and {type_text(b)}"
    return ""


def _dropped(sides: list, count: int) -> int:
    """Results of one branch that nobody reads: the other gives zeros for them."""
    for (_, _, leaves, changed), (other, *_) in (sides, sides[::-1]):
        for leaf in leaves if changed else ():
            if isinstance(leaf, Tensor):
                other.insert_result(count, zeros_like_leaf(leaf))
                count += 1
    return count


def _both_sides(sides: list, count: int) -> tuple[list, int]:
    merged: list = []
    (yes, _, yes_leaves, yes_changed), (no, _, no_leaves, no_changed) = sides
    for a, b in zip(yes_leaves, no_leaves):
        if not isinstance(a, Tensor) and not isinstance(b, Tensor) and same_number(a, b):
            merged.append(a)
            continue
        for region, leaf, other, changed in ((yes, a, b, yes_changed), (no, b, a, no_changed)):
            if not isinstance(leaf, Tensor):
                region.insert_result(count, number_like(leaf, other))
            elif not changed:
                region.insert_result(count, leaf)
        merged.append(_Output(count))
        count += 1
    return merged, count
