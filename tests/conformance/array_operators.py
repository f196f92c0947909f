"""Operators, indexing and attributes of arrays, each with a function that draws its arguments."""

import operator
from collections.abc import Callable
from dataclasses import dataclass

from .array_draws import ALL, FLOATING, INTEGERS, NUMERIC, REAL, REAL_NUMERIC, WITHOUT_UNSIGNED, binary, unary

BITS = ("bool", *INTEGERS)


@dataclass(frozen=True)
class Operator:
    """What to call and how to draw its arguments."""

    apply: Callable
    draw: Callable

    def __call__(self, d):
        return self.draw(d)


def _inplace(draw):
    """The array first; the second operand is one element, so that it widens nothing."""

    def one_element(d):
        (x, y), kwargs = draw(d)
        if not hasattr(x, "dtype"):
            x, y = y, x
        if hasattr(y, "dtype"):
            y = y.reshape(-1)[:1].reshape(()) if y.size else d.array(str(x.dtype), (), low=1, high=3)
        return (x, y), kwargs

    return one_element


# Operands of one dtype: 0-dim tensors promote as PyTorch's do, which the standard's do not.
def _pair(kinds, low=None, high=None):
    return binary(kinds, special=low is None, low=low, high=high, same_dtype=True)


BINARY = {
    "add": _pair(NUMERIC), "sub": _pair(NUMERIC), "mul": _pair(NUMERIC), "truediv": _pair(FLOATING, 0),
    "floordiv": _pair(INTEGERS, 1, 9), "mod": _pair(INTEGERS, 1, 9), "pow": _pair(INTEGERS, 0, 5),
    "and_": _pair(BITS), "or_": _pair(BITS), "xor": _pair(BITS),
    "lshift": _pair(INTEGERS, 0, 6), "rshift": _pair(INTEGERS, 0, 6),
}  # fmt: skip
COMPARISONS = {"lt": REAL_NUMERIC, "le": REAL_NUMERIC, "gt": REAL_NUMERIC, "ge": REAL_NUMERIC, "eq": ALL, "ne": ALL}


def _index(d, x):
    """Integers, slices with any step, None and an ellipsis; now and then a mask or arrays of integers."""
    kind = d.integer(0, 4)
    if kind == 0:
        return d.array("bool", x.shape)
    if kind == 1 and x.ndim and all(x.shape):
        shape = d.shape(high=2)
        return tuple(d.rng.integers(-n, n, shape) for n in x.shape)
    parts = []
    for n in x.shape:
        bounds = [d.maybe(d.integer(-n, n)) for _ in range(2)]
        step = d.choice((None, 1, 2))
        parts.append(d.integer(-n, n - 1) if n and d.integer(0, 2) == 0 else slice(*bounds, step))
    if d.integer(0, 1):
        parts.insert(d.integer(0, len(parts)), None)
    if d.integer(0, 2) == 0:
        cut = d.integer(0, len(parts))
        parts = [*parts[:cut], ...] if d.integer(0, 1) else [..., *parts[cut:]]
        kept = sum(p is not None and p is not ... for p in parts)
        parts = parts if kept <= x.ndim else parts[:1]
    return tuple(parts)


def _getitem(d):
    x = d.array(d.choice(ALL), d.shape())
    return (x, _index(d, x)), {}


def _setitem(d):
    dtype = d.choice(ALL)
    x = d.array(dtype, d.shape(smallest=1))
    index = _index(d, x)
    return (x, index, d.choice((d.number(dtype) if dtype != "bool" else True, d.array(dtype, ())))), {}


def _assign(x, index, value):
    x[index] = value
    return x


def _matmul(d):
    dtype, (m, k, n) = d.choice(NUMERIC), (d.integer(0, 4) for _ in range(3))
    return (d.array(dtype, (m, k)), d.array(dtype, (k, n))), {}


def _scalar(kinds):
    def draw(d):
        return (d.array(d.choice(kinds), ()),), {}

    return draw


OPERATORS = {
    **{f"__{n.strip('_')}__": Operator(getattr(operator, n), draw) for n, draw in BINARY.items()},
    **{f"__i{n.strip('_')}__": Operator(getattr(operator, f"i{n.strip('_')}"), _inplace(d)) for n, d in BINARY.items()},
    **{f"__{n}__": Operator(getattr(operator, n), _pair(kinds)) for n, kinds in COMPARISONS.items()},
    "__matmul__": Operator(operator.matmul, _matmul),
    "__abs__": Operator(abs, unary(NUMERIC)),
    "__neg__": Operator(operator.neg, unary(WITHOUT_UNSIGNED)),
    "__pos__": Operator(operator.pos, unary(NUMERIC)),
    "__invert__": Operator(operator.invert, unary(BITS)),
    "__getitem__": Operator(operator.getitem, _getitem),
    "__setitem__": Operator(_assign, _setitem),
    "__bool__": Operator(bool, _scalar(ALL)),
    "__int__": Operator(int, _scalar(INTEGERS)),
    "__float__": Operator(float, _scalar(REAL)),
    "__complex__": Operator(complex, _scalar(FLOATING)),
    "__index__": Operator(operator.index, _scalar(INTEGERS)),
    "T": Operator(lambda x: x.T, lambda d: ((d.array(d.choice(ALL), (d.integer(0, 3), d.integer(0, 3))),), {})),
    "mT": Operator(lambda x: x.mT, lambda d: ((d.array(d.choice(ALL), d.shape(2, 4)),), {})),
    "ndim": Operator(lambda x: x.ndim, unary(ALL)),
    "shape": Operator(lambda x: tuple(x.shape), unary(ALL)),
    "dtype": Operator(lambda x: x.dtype, unary(ALL)),
    "to_device": Operator(lambda x: x.to_device(x.device), unary(ALL)),
}  # fmt: skip
