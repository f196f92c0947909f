"""What converted functions call: plain Python where Python values decide, parts of the program where tensors do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg.frontend import dtypes
from thalweg.jit.branching import cond as _cond
from thalweg.jit.context import tracing
from thalweg.jit.convert.branches import Nothing, merge, record_branches
from thalweg.jit.convert.loops import Loop, Range
from thalweg.jit.convert.places import Place, Undefined, load
from thalweg.jit.regions import predicate

__all__ = [
    "Nothing",
    "and_",
    "choose",
    "compare",
    "for_",
    "if_",
    "if_return",
    "load",
    "not_",
    "or_",
    "plain",
    "range_of",
    "staged",
    "store",
    "while_",
]


def staged(value: Any) -> bool:
    """Whether a value is known only when the program runs."""
    return isinstance(value, Tensor) and tracing.current is not None


def store(owner: Any, name: str, value: Any) -> None:
    if not isinstance(value, Undefined):
        setattr(owner, name, value)
    elif name in getattr(owner, "__dict__", {}):
        delattr(owner, name)


# ---- statements


def if_(test: Any, then: Callable, other: Callable, get: Callable, put: Callable, names: tuple, seen: Callable) -> None:
    if not staged(test):
        (then if test else other)()
        return
    place, before = Place(), get()
    branches = record_branches(place, (then, other), lambda: put(before), before, lambda _: get(), seen)
    put(merge(place, predicate("if", test), names, before, *branches))


def if_return(
    test: Any, then: Callable, other: Callable, get: Callable, put: Callable, names: tuple, seen: Callable
) -> Any:
    if not staged(test):
        return then() if test else other()
    place, before = Place(), get()
    nothing = (Undefined("the result"),)
    branches = record_branches(place, (then, other), lambda: put(before), nothing, lambda made: (made,), seen)
    put(before)
    (result,) = merge(place, predicate("if", test), ("what is returned",), nothing, *branches)
    if isinstance(result, Undefined) and result is not Nothing:
        result._raise()
    return result


def while_(test: Callable, body: Callable, get: Callable, put: Callable, names: tuple, seen: Callable) -> None:
    goes_on = test()
    while not staged(goes_on):
        if not goes_on:
            return
        body()
        goes_on = test()
    Loop("while", get, put, names, seen).run_while(predicate("while", goes_on), test, body)


def for_(
    iterable: Any,
    body: Callable,
    get: Callable,
    put: Callable,
    names: tuple,
    seen: Callable,
    broken: Callable | None,
) -> None:
    if isinstance(iterable, Range):
        return Loop("for", get, put, names, seen).run_range(iterable, body, broken)
    if staged(iterable) and iterable.dim() and Loop("for", get, put, names, seen).run_rows(iterable, body, broken):
        return None
    for item in iterable:
        stop = broken() if broken else False
        if staged(stop):
            if_(not_(stop), lambda item=item: body(item), lambda: None, get, put, names, seen)
        elif stop:
            break
        else:
            body(item)
    return None


def plain(test: Any, reason: str) -> Any:
    """The condition of a statement that cannot be converted."""
    if staged(test):
        raise Place().error(NotImplementedError, f"a tensor cannot decide here: {reason}")
    return test


# ---- expressions


def not_(value: Any) -> Any:
    return predicate("not", value).logical_not() if staged(value) else not value


def and_(a: Callable, b: Callable) -> Any:
    left = a()
    if not staged(left):
        return left and b()
    return _both(left, b, lambda: left, True)


def or_(a: Callable, b: Callable) -> Any:
    left = a()
    if not staged(left):
        return left or b()
    return _both(left, lambda: left, b, False)


def _both(left: Tensor, yes: Callable, no: Callable, is_and: bool) -> Any:
    """`left and right` is `right` where left holds. Of bools, the truth is all that can matter."""
    if left.dtype != dtypes.as_dtype(bool) or left.numel() != 1:
        return _cond(left, yes, no)
    if is_and:
        return _cond(left, lambda: _truth(yes()), lambda: False)
    return _cond(left, lambda: True, lambda: _truth(no()))


def _truth(value: Any) -> Any:
    return predicate("and", value) if staged(value) else bool(value)


def choose(test: Any, yes: Callable, no: Callable) -> Any:
    if not staged(test):
        return yes() if test else no()
    return _cond(test, yes, no)


_COMPARISONS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def compare(left: Any, *rest: Any) -> Any:
    """a < b < c: (a < b) and (b < c), b once."""
    name, operand, *more = rest
    right = operand()
    first = _COMPARISONS[name](left, right)
    return and_(lambda: first, lambda: compare(right, *more)) if more else first


def range_of(*bounds: Any) -> Any:
    """`range`, also of tensors."""
    if any(staged(bound) for bound in bounds):
        return Range(*bounds)
    return range(*bounds)
