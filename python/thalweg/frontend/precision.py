"""How products of float32 matrices are computed."""

from thalweg._core import _native

__all__ = ["get_float32_matmul_precision", "set_float32_matmul_precision"]

_LEVELS = ("highest", "high", "medium")
_current = "highest"


def get_float32_matmul_precision() -> str:
    """The level that was set last; at first "highest"."""
    return _current


def set_float32_matmul_precision(precision: str) -> None:
    """Says whether products of float32 matrices may use a processor's matrix unit.

    "highest" leaves them to BLAS. "high" lets large ones run on the unit (AMX) where there is one, each float split
    into three bfloat16 that sum to it; the root mean square of the errors is no larger than BLAS's, but last bits
    differ. "medium", which allows bfloat16 precision in PyTorch, is the same as "high".

    Raises:
        ValueError: another level.

    >>> import thalweg as tw
    >>> tw.set_float32_matmul_precision("high")
    >>> tw.get_float32_matmul_precision()
    'high'
    >>> tw.set_float32_matmul_precision("highest")
    """
    global _current
    if precision not in _LEVELS:
        raise ValueError(f"set_float32_matmul_precision: one of {', '.join(_LEVELS)} is wanted, got {precision!r}")
    _native.allow_matrix_unit(precision != "highest")
    _current = precision
