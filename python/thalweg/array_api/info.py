"""What the standard's inspection functions say of thalweg."""

from typing import Any

import thalweg as tw
from thalweg.array_api.dtypes import isdtype

_DTYPES = "bool int8 int16 int32 int64 uint8 float32 float64 complex64 complex128".split()


class Info:
    """The object that __array_namespace_info__ returns."""

    def capabilities(self) -> dict[str, Any]:
        """What may depend on data, and how many dims there may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where arrays are made."""
        return tw.device("cpu")

    def devices(self) -> list:
        """All devices."""
        return [tw.device("cpu")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes that creation functions choose."""
        real = tw.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": tw.complex128 if real == tw.float64 else tw.complex64,
            "integral": tw.int64,
            "indexing": tw.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """All dtypes by name, or those of a kind."""
        named = {name: getattr(tw, name) for name in _DTYPES}
        return named if kind is None else {name: d for name, d in named.items() if isdtype(d, kind)}


def __array_namespace_info__() -> Info:
    """Describes devices, dtypes and capabilities."""
    return Info()
