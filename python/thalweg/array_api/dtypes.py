"""Functions on data types."""

from typing import Any

import thalweg as tw
from thalweg._core._tensor import Tensor, dtype

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_KINDS = {
    "bool": lambda d: d.name == "bool",
    "signed integer": lambda d: d.name.startswith("int"),
    "unsigned integer": lambda d: d.name.startswith("uint"),
    "integral": lambda d: "int" in d.name,
    "real floating": lambda d: d.is_floating_point,
    "complex floating": lambda d: d.is_complex,
    "numeric": lambda d: d.name != "bool",
}


def astype(x: Tensor, dtype: dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """x in another dtype; a copy, unless copy=False and nothing changes."""
    return x.to(device=device, dtype=dtype, copy=copy) if device is not None else x.to(dtype, copy=copy)


def can_cast(from_: Any, to: dtype, /) -> bool:
    """Whether promotion leads from a dtype (or an array's) to another."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    return tw.promote_types(source, to) == to


def finfo(type: Any, /) -> tw.finfo:
    """The limits of a floating dtype, or of an array's."""
    return tw.finfo(type.dtype if isinstance(type, Tensor) else type)


def iinfo(type: Any, /) -> tw.iinfo:
    """The limits of an integer dtype, or of an array's."""
    return tw.iinfo(type.dtype if isinstance(type, Tensor) else type)


def isdtype(dtype: dtype, kind: Any) -> bool:
    """Whether a dtype is another, is of a kind named by the standard, or is one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: kind must be one of {sorted(_KINDS)}, got {kind!r}")
        return _KINDS[kind](dtype)
    return dtype == kind


def result_type(*arrays_and_dtypes: Any) -> dtype:
    """The dtype that the dtypes promote to, 0-dim arrays counting like the others; Python numbers fit in."""
    dtypes = [v.dtype if isinstance(v, Tensor) else v for v in arrays_and_dtypes]
    numbers = [v for v in dtypes if isinstance(v, (bool, int, float, complex))]
    kinds = [v for v in dtypes if not isinstance(v, (bool, int, float, complex))]
    if not kinds:
        raise ValueError("result_type: at least one array or dtype is wanted")
    result = kinds[0]
    for other in kinds[1:]:
        result = tw.promote_types(result, other)
    for number in numbers:
        result = tw.result_type(tw.empty((1,), dtype=result), number)
    return result
