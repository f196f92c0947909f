"""Arguments for the array API's functions: NumPy arrays and Python values, drawn from a seed that the name fixes.

A table maps each function of the standard to a function of a `Draw`, which gives (args, kwargs). Elements are small
numbers, mixed with the values that the standard's special cases name.
"""

import zlib

import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATING = REAL + COMPLEX
REAL_NUMERIC = INTEGERS + REAL
NUMERIC = INTEGERS + FLOATING
ALL = ("bool", *NUMERIC)
WITHOUT_UNSIGNED = ("int8", "int16", "int32", "int64", *FLOATING)


class Dtype(str):
    """A dtype by name, to be looked up in each namespace."""


class Draw:
    """Random shapes, dtypes, arrays and axes; the same for a name and index everywhere."""

    def __init__(self, name, index):
        self.rng = np.random.default_rng([zlib.crc32(name.encode()), index])

    def choice(self, options):
        return options[self.rng.integers(len(options))]

    def maybe(self, value, otherwise=None):
        return value if self.rng.random() < 0.5 else otherwise

    def integer(self, low, high):
        """low <= n <= high."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=3, smallest=0):
        return tuple(self.integer(smallest, 4) for _ in range(self.integer(low, high)))

    def axis(self, ndim):
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim):
        """None, one axis or a tuple of some, now and then an empty one."""
        kind = self.integer(0, 3)
        if kind == 0 or ndim == 0:
            return None
        if kind == 1:
            return self.axis(ndim)
        chosen = self.rng.permutation(ndim)[: self.integer(0, ndim)]
        return tuple(int(a) - ndim * self.integer(0, 1) for a in chosen)

    def _real(self, dtype, size, special):
        values = self.rng.integers(-40, 41, size) / 8.0
        if special:
            info = np.finfo(dtype)
            odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, info.max, info.tiny, info.eps, 0.5, 3.0])
            values = np.where(self.rng.random(size) < 0.6, odd[self.rng.integers(len(odd), size=size)], values)
        return values.astype(dtype)

    def array(self, dtype, shape, special=False, low=None, high=None):
        size = int(np.prod(shape))
        if dtype == "bool":
            flat = self.rng.random(size) < 0.5
        elif dtype in INTEGERS:
            info = np.iinfo(dtype)
            low, high = (max(info.min, -9) if low is None else low), (9 if high is None else high)
            flat = self.rng.integers(low, high + 1, size).astype(dtype)
            if special:
                odd = np.array([info.min, info.max, 0, 1], dtype=dtype)
                flat = np.where(self.rng.random(size) < 0.3, odd[self.rng.integers(4, size=size)], flat)
        elif dtype in COMPLEX:
            part = "float32" if dtype == "complex64" else "float64"
            flat = np.empty(size, dtype)
            flat.real, flat.imag = self._real(part, size, special), self._real(part, size, special)
        else:
            flat = self._real(dtype, size, special)
        result = flat.reshape(shape)
        return np.asfortranarray(result) if self.rng.random() < 0.2 else result

    def broadcastable(self, count):
        """Shapes that broadcast with each other."""
        full = self.shape()
        return [
            tuple(1 if self.rng.random() < 0.25 else n for n in full[self.integer(0, len(full)) * self.integer(0, 1) :])
            for _ in range(count)
        ]

    def promotable(self, kinds, count):
        """Dtypes of one kind: only those have a promotion in the standard (real with complex floating is one)."""
        first = self.choice(kinds)
        family = next(f for f in (("bool",), INTEGERS, FLOATING) if first in f)
        return [first, *(self.choice([d for d in family if d in kinds]) for _ in range(count - 1))]

    def number(self, dtype):
        """A Python number that may stand beside an array of the dtype."""
        if dtype == "bool":
            return bool(self.integer(0, 1))
        if dtype in INTEGERS:
            return self.integer(1, 5)
        return self.choice((2, 0.5, -1.5)) if dtype in REAL else self.choice((2, 0.5, 1 - 2j))


def unary(kinds, special=True):
    def draw(d):
        return (d.array(d.choice(kinds), d.shape(), special and d.integer(0, 1)),), {}

    return draw


def binary(kinds, special=True, low=None, high=None, numbers=True, same_dtype=False):
    """Two arrays, or an array and a number on either side; `low` and `high` bound the integers of the second."""

    def draw(d):
        (a, b), (s, t) = d.promotable(kinds, 2), d.broadcastable(2)
        if same_dtype:
            b = a
        # Products of complex infinities are the implementation's choice.
        special_now = special and d.integer(0, 1) and a not in COMPLEX and b not in COMPLEX
        second = d.array(b, t, special_now and low is None, low, high if b in INTEGERS else None)
        if b not in INTEGERS or low is None:
            second = d.array(b, t, special_now)
        pair = [d.array(a, s, special_now), second]
        if numbers and d.integer(0, 3) == 0:
            side = 1 if low is not None else d.integer(0, 1)
            pair[side] = d.number(a if side else b)
        return tuple(pair), {}

    return draw


def reduction(kinds, smallest=0, with_dtype=False, special=False, **options):
    def draw(d):
        dtype = d.choice(kinds)
        x = d.array(dtype, d.shape(smallest=smallest), special and d.integer(0, 1))
        kwargs = {"axis": d.axes(x.ndim), "keepdims": bool(d.integer(0, 1))}
        if with_dtype:
            kwargs["dtype"] = _wider(d, dtype)
        for name, choices in options.items():
            kwargs[name] = d.choice(choices)
        return (x,), kwargs

    return draw


def _wider(d, dtype):
    """A dtype to add up in; one is always given for uint8, whose default would be uint64."""
    if dtype in ("uint8", "bool"):
        return Dtype("int64")
    return d.maybe(Dtype("float64")) if dtype in REAL else None


def along_axis(kinds, low=1, smallest=0, none=False, special=True, with_dtype=False, **options):
    """One array and an axis of its, with options drawn from tuples."""

    def draw(d):
        x = d.array(d.choice(kinds), d.shape(low=low, smallest=smallest), special and d.integer(0, 1))
        kwargs = {} if none and d.integer(0, 1) and x.ndim <= none else {"axis": d.axis(x.ndim)}
        if with_dtype:
            kwargs["dtype"] = _wider(d, str(x.dtype))
        return (x,), kwargs | {name: d.choice(choices) for name, choices in options.items()}

    return draw
