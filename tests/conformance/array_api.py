"""The array API standard: every function of thalweg's namespace against array_api_strict's.

Checks: the signature is the standard's, and the values, shapes and dtypes agree on arguments drawn from a seed.
"""

import contextlib
import functools
import inspect
import time
import warnings

import numpy as np
import thalweg as tw

from .array_draws import Draw, Dtype
from .array_operators import OPERATORS
from .array_table import EXTRA, TABLE
from .compare import TOLERANCES, _close, _difference
from .convert import to_numpy
from .outcome import SKIP, Rejected, first_line
from .result import Result, perform

CHECKS = ("signature", "values")
SAMPLES = 80
VERSION = "2024.12"


@functools.cache
def strict():
    import array_api_strict

    array_api_strict.set_array_api_strict_flags(api_version=VERSION)
    return array_api_strict


def ours():
    return tw.tensor(0.0).__array_namespace__(api_version=VERSION)


def database():
    """Units: functions of the standard, the same on further arguments (xp.name.more), and operators of arrays."""
    return [f"xp.{name}" for name in [*TABLE, *(f"{name}.more" for name in EXTRA), *OPERATORS]]


@contextlib.contextmanager
def _numpys_default():
    """float64 where no dtype is given, as in the reference."""
    usual = tw.get_default_dtype()
    tw.set_default_dtype(tw.float64)
    try:
        yield
    finally:
        tw.set_default_dtype(usual)


class Case:
    """One call: the function's name and arguments as NumPy arrays and Python values."""

    def __init__(self, unit, index):
        self.name = unit.removeprefix("xp.").removesuffix(".more")
        self.operator = self.name in OPERATORS
        table = OPERATORS if self.operator else EXTRA if unit.endswith(".more") else TABLE
        self.args, self.kwargs = table[self.name](Draw(unit, index))

    def call(self, xp):
        function = self._operate if self.operator else getattr(xp, self.name)
        args = [convert(xp, a) for a in self.args]
        kwargs = {k: convert(xp, v) for k, v in self.kwargs.items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"), _numpys_default():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    def _operate(self, *args):
        return OPERATORS[self.name].apply(*args)

    def describe(self):
        parts = [_text(a) for a in self.args] + [f"{k}={_text(v)}" for k, v in self.kwargs.items()]
        return ", ".join(parts)


def _text(value):
    return f"{value.dtype}{np.array2string(value, separator=', ')}" if isinstance(value, np.ndarray) else repr(value)


def convert(xp, value):
    if isinstance(value, np.ndarray):
        return xp.asarray(value.copy(order="K"))
    if isinstance(value, Dtype):
        return getattr(xp, value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, (np.ndarray, Dtype)) for v in value):
        return type(value)(convert(xp, v) for v in value)
    return value


def values(case):
    """The standard's result, shape and dtype; zeros' signs too."""
    try:
        want = case.call(strict())
    except Exception as e:
        raise Rejected(first_line(e)) from None
    return differs(case.name, want, case.call(ours()))


def differs(name, want, got):
    """None, or how a result differs from the standard's."""
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            return f"want {len(want)} results, got {got!r}"
        if getattr(want, "_fields", ()) != getattr(got, "_fields", ()):
            return f"fields: want {want._fields}, got {getattr(got, '_fields', ())}"
        return next((m for w, g in zip(want, got) if (m := differs(name, w, g))), None)
    if name in ("finfo", "iinfo"):
        fields = ("bits", "max", "min") + (("eps", "smallest_normal") if name == "finfo" else ())
        bad = [f for f in fields if float(getattr(got, f)) != float(getattr(want, f))]
        return f"{bad[0]}: want {getattr(want, bad[0])}, got {getattr(got, bad[0])}" if bad else None
    if isinstance(want, (bool, int, float, complex)):
        return None if want == got and type(want) is type(got) else f"want {want!r}, got {got!r}"
    if not hasattr(want, "shape"):  # a dtype
        return None if _name(want) == _name(got) else f"want {_name(want)}, got {_name(got)}"
    return _compare(name, want._array, got)


def _name(dtype):
    return str(dtype).rpartition(".")[2]


def _compare(name, want, got):
    if not isinstance(got, tw.Tensor):
        return f"want an array, got {type(got).__name__}"
    if tuple(got.shape) != want.shape:
        return f"shape: want {want.shape}, got {tuple(got.shape)}"
    if str(want.dtype) != got.dtype.name:
        return f"dtype: want {want.dtype}, got {got.dtype.name}"
    if name.startswith("empty") or want.size == 0:
        return None
    found = to_numpy(got)
    tolerance = TOLERANCES.get(got.dtype.name)
    if tolerance is None:
        good = want == found
        return None if good.all() else _difference(want, found, good)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = want.astype(wide), found.astype(wide)
    good = _close(b, a, *tolerance)
    if want.dtype.kind == "f" and not name.startswith("unique"):  # which zero stands for both is open
        good &= (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
    return None if good.all() else _difference(a, b, good)


def signature(case):
    """The parameters of the standard with their kinds and defaults."""
    if case.operator:
        return SKIP
    want = inspect.signature(getattr(strict(), case.name)).parameters.values()
    got = inspect.signature(getattr(ours(), case.name)).parameters
    for p in want:
        mine = got.get(p.name)
        if mine is None or mine.kind != p.kind:
            return f"parameter {p}: got {mine}"
        undefined = type(p.default).__name__ == "Undef"
        if mine.default != (None if undefined else p.default):
            return f"default of {p.name}: want {p.default!r}, got {mine.default!r}"
    extra = [p for n, p in got.items() if n not in {p.name for p in want} and p.default is p.empty]
    return f"further parameters: {extra}" if extra else None


def run(unit, wanted=CHECKS):
    """One function, on SAMPLES calls."""
    result = Result(unit, demanded=True)
    start = time.perf_counter()
    if "signature" in wanted:
        perform(result, "-", 0, Case(unit, 0), {"signature": signature}, Case.describe, "signature")
    for index in range(SAMPLES if "values" in wanted else 0):
        perform(result, "-", index, Case(unit, index), {"values": values}, Case.describe, "values")
    result.seconds = time.perf_counter() - start
    return result
