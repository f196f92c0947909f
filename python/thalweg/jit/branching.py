"""A cond: both functions are recorded, each in a region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.jit.context import tracing
from thalweg.jit.regions import Again, Gradients, Recording, number_like, predicate, same_number, type_text
from thalweg.jit.tree import flatten, key_of, unflatten

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Sequence = ()) -> Any:
    """As tw.cond, of functions as they are."""
    if not (tracing.current is not None and isinstance(pred, Tensor)):
        return true_fn(*operands) if pred else false_fn(*operands)
    pred = predicate("cond", pred)
    gradients = Gradients()
    while True:
        gradients.prepare()
        try:
            yes, yes_tree, yes_leaves = _record_branch("then", true_fn, operands, gradients)
            no, no_tree, no_leaves = _record_branch("else", false_fn, operands, gradients)
            break
        except Again:
            continue
    if key_of(yes_tree) != key_of(no_tree):
        raise TypeError(
            "cond: its branches must return the same structure, "
            f"got {unflatten(yes_tree, yes_leaves)!r} and {unflatten(no_tree, no_leaves)!r}"
        )
    numbers = {}  # place → number that both return
    count = 0
    for i, (a, b) in enumerate(zip(yes_leaves, no_leaves)):
        if not isinstance(a, Tensor) and same_number(a, b):
            numbers[i] = a
            continue
        for region, leaf, other in ((yes, a, b), (no, b, a)):
            if not isinstance(leaf, Tensor):
                region.insert_result(count, number_like(leaf, other))
        count += 1
        if isinstance(a, Tensor) and isinstance(b, Tensor) and (a.dtype != b.dtype or a.shape != b.shape):
            raise TypeError(
                "cond: its branches must return tensors of the same dtypes and shapes, "
                f"got {type_text(a)} and {type_text(b)}"
            )
    results = iter(_native.finish_cond(tracing.current.tracer, pred, yes, no))
    return unflatten(yes_tree, [numbers[i] if i in numbers else next(results) for i in range(len(yes_leaves))])


def _record_branch(name: str, function: Callable, operands: Sequence, gradients: Gradients) -> tuple:
    leaves: list = []
    with Recording(name) as region:
        tree = flatten(function(*operands), leaves)
        gradients.settle(region)
        region.finish([leaf for leaf in leaves if isinstance(leaf, Tensor)])
    return region, tree, leaves
