"""The dtypes under their names, and questions about them."""

import builtins
import math
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, all_dtypes, dtype

uint8: dtype
int8: dtype
int16: dtype
int32: dtype
int64: dtype
float16: dtype
bfloat16: dtype
float32: dtype
float64: dtype
complex64: dtype
complex128: dtype

for _dtype in all_dtypes():
    globals()[_dtype.name] = _dtype

_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
for _alias, _name in _ALIASES.items():
    globals()[_alias] = globals()[_name]

__all__ = [
    *(d.name for d in all_dtypes()),
    *_ALIASES,
    "can_cast",
    "finfo",
    "get_default_dtype",
    "iinfo",
    "promote_types",
    "result_type",
    "set_default_dtype",
]


_PYTHON = {
    builtins.bool: globals()["bool"],
    builtins.int: globals()["int64"],
    builtins.float: globals()["float64"],
    builtins.complex: globals()["complex128"],
}


def as_dtype(given: Any) -> Any:
    """The dtype that Python's bool, int, float or complex stands for: of its own width. Others are as they were."""
    return _PYTHON.get(given, given) if isinstance(given, type) else given


def get_default_dtype() -> dtype:
    """The dtype that Python floats become: float32 unless changed."""
    return _native.default_dtype()


def set_default_dtype(d: dtype) -> None:
    """Sets the dtype that Python floats become.

    Raises:
        TypeError: d is not a floating dtype.
    """
    _native.set_default_dtype(d)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both.

    >>> import thalweg as tw
    >>> tw.promote_types(tw.int32, tw.float16)
    thalweg.float16
    """
    return _native.promote_types(type1, type2)


def result_type(*operands: object) -> dtype:
    """The dtype that an operation on these tensors, numbers or dtypes has."""
    found: Any = None
    tensors = [t if isinstance(t, Tensor) else _native.number_operand(t) for t in operands if not isinstance(t, dtype)]
    if tensors:
        found = _native.result_type(tensors)
    for d in operands:
        if isinstance(d, dtype):
            found = d if found is None else promote_types(found, d)
    return found


def can_cast(from_: dtype | Tensor, to: dtype) -> bool:
    """Whether values of one dtype may be written into a tensor of another: never to a lower kind."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    kinds = [_kind(as_dtype(source)), _kind(as_dtype(to))]
    return kinds[0] <= kinds[1]


def _kind(d: dtype) -> int:
    if d.is_complex:
        return 3
    if d.is_floating_point:
        return 2
    return 0 if d.name == "bool" else 1


class finfo:
    """The limits of a floating dtype: bits, eps, max, min, tiny, smallest_normal, resolution."""

    # explicit bits of the mantissa, largest exponent
    _LAYOUT = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}
    _DIGITS = {"float16": 3, "bfloat16": 2, "float32": 6, "float64": 15}

    def __init__(self, type: dtype | None = None) -> None:
        d = as_dtype(type) or get_default_dtype()
        name = {"complex64": "float32", "complex128": "float64"}.get(d.name, d.name)
        if name not in self._LAYOUT:
            raise TypeError(f"finfo: a floating dtype is wanted, got {d}")
        mantissa, exponent = self._LAYOUT[name]
        self.dtype = name
        self.bits = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}[name]
        self.eps = 2.0**-mantissa
        self.max = math.ldexp(2.0 - self.eps, exponent)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = 10.0 ** -self._DIGITS[name]

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype}, eps={self.eps:g}, max={self.max:g}, min={self.min:g}, tiny={self.tiny:g})"


class iinfo:
    """The limits of an integer dtype: bits, max, min."""

    def __init__(self, type: dtype) -> None:
        type = as_dtype(type)
        if type.is_floating_point or type.is_complex or type.name == "bool":
            raise TypeError(f"iinfo: an integer dtype is wanted, got {type}")
        self.dtype = type.name
        self.bits = 8 * type.itemsize
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - 1) - 1 if type.is_signed else 2**self.bits - 1

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, max={self.max}, min={self.min})"
