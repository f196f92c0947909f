"""Python numbers that a traced program gets anew in every call: learning rates, step counts."""

from __future__ import annotations

import math
import operator
from typing import Any

from thalweg._core import _tensor

__all__ = ["Number"]


class Number:
    """A number whose value may differ from call to call; arithmetic on it makes an expression.

    What needs the value itself (a comparison, an index, a function of the math module) gets that of the trace, and the
    trace is used again only while the outcome stays the same. Text is that of the trace, without a guard: it is mostly
    printed.

    Args:
        trace: the Trace that it belongs to.
        text: Python source that gives its value from `r`, the list of the numbers that the trace reads.
        value: its value during the trace.
    """

    __slots__ = ("text", "trace", "value")

    def __init__(self, trace: Any, text: str, value: float) -> None:
        self.trace, self.text, self.value = trace, text, value

    def _enter_graph(self) -> tuple[int, float]:
        """Its number in the graph, and its value now."""
        return self.trace.number_in_graph(self), self.value

    def _binary(self, other: Any, operator: str, swapped: bool = False) -> Any:
        if type(other) is Number:
            text, value = other.text, other.value
        elif isinstance(other, (int, float)):
            text, value = repr_number(other), other
        else:
            return NotImplemented
        a, b = ((text, value), (self.text, self.value)) if swapped else ((self.text, self.value), (text, value))
        return Number(self.trace, f"({a[0]} {operator} {b[0]})", _OPERATORS[operator](a[1], b[1]))

    def _read(self, form: str, value: Any) -> Any:
        """`value`, which is what the source `form` gives now; the trace holds while it gives the same."""
        self.trace.guard(form.format(self.text), value)
        return value

    def _fixed(self) -> float:
        """The value itself, for an op that cannot take it anew in every call."""
        return self._read("{}", self.value)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """isinstance() takes it for what it stands for; type() tells."""
        return type(self.value)

    def __neg__(self) -> Number:
        return Number(self.trace, f"(-{self.text})", -self.value)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return Number(self.trace, f"abs({self.text})", abs(self.value))

    def __bool__(self) -> bool:
        return self._read("bool({})", bool(self.value))

    def __float__(self) -> float:
        return self._read("float({})", float(self.value))

    def __int__(self) -> int:
        return self._read("int({})", int(self.value))

    def __index__(self) -> int:
        if not isinstance(self.value, int):
            raise TypeError(f"an integer is wanted, got {self.value!r}")
        return self._read("{}", self.value)

    def __complex__(self) -> complex:
        return complex(float(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._fixed(), digits)

    def __trunc__(self) -> int:
        return int(self)

    def __floor__(self) -> int:
        return math.floor(self._fixed())

    def __ceil__(self) -> int:
        return math.ceil(self._fixed())

    def __invert__(self) -> int:
        return ~self._fixed()  # type: ignore[operator]

    def __getattr__(self, name: str) -> Any:
        """What else ints and floats have: `bit_length`, `is_integer`, `real`."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._fixed(), name)

    def __hash__(self) -> int:
        return hash(self._read("{}", self.value))

    def __repr__(self) -> str:
        return f"Number({self.value!r})"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


def repr_number(value: float) -> str:
    """Python source of a number."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return f"({value!r})" if math.copysign(1, value) < 0 else repr(value)  # as a base of a power


_OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
}
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
_VALUE_OPERATIONS = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "divmod": divmod,
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def _arithmetic(symbol: str, swapped: bool) -> Any:
    return lambda self, other: self._binary(other, symbol, swapped)


def _of_values(operation: Any, swapped: bool) -> Any:
    """An operation that has no formula: it takes the values, and the trace holds while they stay."""

    def operate(self: Number, other: Any) -> Any:
        a, b = self._fixed(), other._fixed() if type(other) is Number else other
        return operation(b, a) if swapped else operation(a, b)

    return operate


def _comparison(name: str, symbol: str) -> Any:
    def compare(self: Number, other: Any) -> Any:
        if type(other) is Number:
            text, value = other.text, other.value
        elif isinstance(other, (int, float)):
            text, value = repr_number(other), other
        else:
            return NotImplemented
        outcome = getattr(self.value, f"__{name}__")(value)
        if outcome is NotImplemented:  # int against float
            outcome = getattr(float(self.value), f"__{name}__")(float(value))
        self.trace.guard(f"({self.text} {symbol} {text})", outcome)
        return outcome

    return compare


for _name, _symbol in _ARITHMETIC.items():
    setattr(Number, f"__{_name}__", _arithmetic(_symbol, False))
    setattr(Number, f"__r{_name}__", _arithmetic(_symbol, True))
for _name, _operation in _VALUE_OPERATIONS.items():
    setattr(Number, f"__{_name}__", _of_values(_operation, False))
    setattr(Number, f"__r{_name}__", _of_values(_operation, True))
for _name, _symbol in _COMPARISONS.items():
    setattr(Number, f"__{_name}__", _comparison(_name, _symbol))

_tensor.set_traced_number_type(Number)
