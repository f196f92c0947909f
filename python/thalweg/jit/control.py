"""Control flow that a static program keeps: tw.cond, tw.while_loop and tw.scan.

In eager mode they are plain Python. While a function is traced they record each branch or body once, as a region of
the graph, which a run takes, or repeats, as its data say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg import _registry
from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.jit import branching
from thalweg.jit.context import tracing
from thalweg.jit.convert.calls import converted
from thalweg.jit.regions import Again, Carried, Recording, as_tensor, predicate, type_text
from thalweg.jit.tree import flatten, unflatten

__all__ = ["cond", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Sequence = ()) -> Any:
    """Calls `true_fn(*operands)` where `pred` holds, else `false_fn(*operands)`.

    Args:
        pred: a bool, or a tensor of one element.
        true_fn, false_fn: functions of the operands. They may use other tensors, too, and write to them.
        operands: tensors, or whatever the functions take.

    Returns: what the function returns. In a static program the two must return the same structure, with tensors of
    the same dtypes and shapes; both are traced, one is run, and differing numbers become 0-dim tensors.

    >>> import thalweg as tw
    >>> @tw.jit
    ... def f(x):
    ...     return tw.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,))
    >>> f(tw.tensor([1.0, 2.0])), f(tw.tensor([-1.0, -2.0]))
    (tensor([2., 4.]), tensor([1., 2.]))
    >>> f.trace_count
    1
    """
    if tracing.current is None:
        holds = predicate("cond", pred) if isinstance(pred, Tensor) else pred
        return true_fn(*operands) if holds else false_fn(*operands)
    return branching.cond(pred, converted(true_fn), converted(false_fn), operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried: Any, *, max_iterations: int | None = None) -> Any:
    """Repeats `carried = body_fn(*carried)` while `cond_fn(*carried)` holds.

    Args:
        cond_fn: a function of the carried values; returns a bool or a tensor of one element.
        body_fn: a function of the carried values; returns as many. They may use other tensors, too, and write to them.
        carried: a tuple or list of nested tensors and numbers; any other structure is one carried value.
        max_iterations: after so many iterations the loop ends. In a static program its backward needs it: the memory
            for what an iteration leaves to backward is planned.

    Returns: the carried values after the last iteration. In a static program numbers among them are 0-dim tensors, and
    all keep their dtypes and shapes.

    >>> import thalweg as tw
    >>> @tw.jit
    ... def halve(x):
    ...     return tw.while_loop(lambda x, n: x.sum() > 1, lambda x, n: (x / 2, n + 1), (x, 0))
    >>> halve(tw.tensor([3.0, 5.0]))
    (tensor([0.3750, 0.6250]), tensor(3))
    """
    single = not isinstance(carried, (tuple, list)) or hasattr(carried, "_fields")
    state = (carried,) if single else carried
    if max_iterations is not None and (type(max_iterations) is not int or max_iterations < 0):
        raise ValueError(f"while_loop: max_iterations is a number from 0 on, or None, got {max_iterations!r}")
    if tracing.current is not None:
        cond_fn, body_fn = converted(cond_fn), converted(body_fn)
        pred = cond_fn(*state)
        if isinstance(pred, Tensor):
            state = _record_while(cond_fn, body_fn, Carried("while_loop", state), max_iterations, pred)
            return state[0] if single else state
    iterations = 0
    while (max_iterations is None or iterations < max_iterations) and cond_fn(*state):
        state = _next_state(body_fn(*state), state)
        iterations += 1
    return state[0] if single else state


def _next_state(result: Any, state: Any) -> Any:
    """What a body returned, as a tuple or list like `state`."""
    if len(state) == 1 and not isinstance(result, (tuple, list)):
        result = (result,)
    if not isinstance(result, (tuple, list)) or len(result) != len(state):
        raise TypeError(f"while_loop: the body must return {len(state)} values, got {result!r}")
    return type(state)(result)


def _record_while(cond_fn: Callable, body_fn: Callable, carried: Carried, most: int | None, pred: Tensor) -> Any:
    pred = predicate("while_loop", pred)
    while True:
        tensors = carried.tensors([pred])
        try:
            with Recording("body") as region:
                inputs, _ = carried.begin(region)
                state = unflatten(carried.tree, inputs)
                after = carried.check(_next_state(body_fn(*state), state), inputs)
                goes_on = cond_fn(*unflatten(carried.tree, after))
                if not isinstance(goes_on, Tensor):
                    goes_on = as_tensor(bool(goes_on))
                carried.finish(region, [predicate("while_loop", goes_on), *after])
        except Again:
            continue
        length = -1 if most is None else most
        return unflatten(
            carried.tree, _native.finish_loop(tracing.current.tracer, pred, tensors, [], length, False, region)
        )


def scan(f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> tuple[Any, Any]:
    """Carries a value along the first dim of `xs`: `carry, y = f(carry, x)` for each part x.

    Args:
        f: a function of what is carried and of a part of `xs`; returns the next carry, and a result. It may use other
            tensors, too, and write to them.
        init: nested tensors and numbers, carried into the first call.
        xs: nested tensors, all of the same size in dim 0; or None, for `length` calls.
        length: the number of parts, where `xs` does not say it.
        reverse: from the last part to the first; results stand with their parts.

    Returns: (the last carry, the results stacked along a new dim 0). In a static program numbers that are carried are
    0-dim tensors, and all keep their dtypes and shapes.

    >>> import thalweg as tw
    >>> tw.scan(lambda total, x: (total + x, total * x), tw.tensor(0.0), tw.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    parts: list = []
    parts_tree = flatten(xs, parts)
    count = _length_of(parts, length)
    if tracing.current is not None:
        return _record_scan(converted(f), Carried("scan", init), parts_tree, parts, count, reverse)
    carry, results = init, []
    order = range(count - 1, -1, -1) if reverse else range(count)
    for i in order:
        carry, result = _pair(f(carry, unflatten(parts_tree, [part[i] for part in parts])))
        leaves: list = []
        tree = flatten(result, leaves)
        results.append([leaf if isinstance(leaf, Tensor) else as_tensor(leaf) for leaf in leaves])
    if reverse:
        results.reverse()
    stack = _registry.FUNCTIONS["stack"]
    return carry, unflatten(tree, [stack(list(column)) for column in zip(*results)])


def _pair(returned: Any) -> Any:
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        got = type_text(returned) if isinstance(returned, Tensor) else repr(returned)
        raise TypeError(f"scan: f must return a pair, the carried values and a result, got {got}")
    return returned


def _length_of(parts: list, length: int | None) -> int:
    lengths = set()
    for part in parts:
        if not isinstance(part, Tensor) or part.dim() == 0:
            raise TypeError(f"scan: xs holds tensors with a first dim to go along, got {type_text(part)}")
        lengths.add(part.shape[0])
    if length is not None:
        lengths.add(length)
    if len(lengths) != 1:
        raise ValueError(f"scan: one length is wanted, of xs and as an argument, got {sorted(lengths) or 'none'}")
    (count,) = lengths
    if count < 1:
        raise ValueError(f"scan: at least one part is wanted, got {count}: no result would say what they look like")
    return count


def _record_scan(f: Callable, carried: Carried, parts_tree: Any, parts: list, count: int, reverse: bool) -> tuple:
    while True:
        tensors = carried.tensors(parts)
        try:
            with Recording("body") as region:
                inputs, slices = carried.begin(region, parts)
                versions = [part._version for part in slices]
                carry, result = _pair(f(unflatten(carried.tree, inputs), unflatten(parts_tree, slices)))
                leaves: list = []
                tree = flatten(result, leaves)
                after = carried.check(carry, inputs)
                given = [leaf if isinstance(leaf, Tensor) else as_tensor(leaf) for leaf in leaves]
                written = [i for i, part in enumerate(slices) if part._version != versions[i]]
                carried.finish(region, [*after, *given, *(slices[i] for i in written)])
        except Again:
            continue
        done = _native.finish_loop(tracing.current.tracer, None, tensors, parts, count, reverse, region)
        for i in reversed(written):
            parts[i].copy_(done.pop())
        return unflatten(carried.tree, done[: len(tensors)]), unflatten(tree, done[len(tensors) :])
