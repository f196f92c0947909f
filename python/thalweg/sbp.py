"""How a global tensor lies on one axis of a placement.

`split(dim)` cuts a dim among the devices, `broadcast` gives every device the whole, and `partial_sum`, `partial_max`
and `partial_min` leave every device a tensor of the whole's size, which are still to be reduced.

>>> import thalweg as tw
>>> tw.sbp.split(0), tw.sbp.split(-1, unit=64), tw.sbp.broadcast, tw.sbp.partial_sum
(sbp.split(0), sbp.split(-1, unit=64), sbp.broadcast, sbp.partial_sum)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

from thalweg._core import _native

if TYPE_CHECKING:
    from thalweg.frontend.placement import placement as Placement

__all__ = ["broadcast", "explain", "partial_max", "partial_min", "partial_sum", "sbp", "split"]


class sbp:
    """A layout on one axis; made by split(), broadcast, partial_sum, partial_max and partial_min."""

    __slots__ = ("_key",)
    _key: tuple

    def __init__(self, key: tuple) -> None:
        object.__setattr__(self, "_key", key)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an sbp cannot be changed")

    def __call__(self) -> "sbp":
        """Itself: `broadcast()` is `broadcast`."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, sbp) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple:
        return sbp, (self._key,)

    def __repr__(self) -> str:
        if self._key[0] == "B":
            return "sbp.broadcast"
        if self._key[0] == "P":
            return f"sbp.partial_{self._key[1]}"
        _, dim, unit, sizes = self._key
        return f"sbp.split({dim}{f', unit={unit}' if unit != 1 else ''}{f', sizes={list(sizes)}' if sizes else ''})"

    def _on(self, ndim: int, op: str) -> tuple:
        """What the core takes, for a tensor of `ndim` dims."""
        if self._key[0] != "S":
            return self._key
        _, dim, unit, sizes = self._key
        if not -ndim <= dim < ndim:
            raise IndexError(f"{op}: {self!r} splits a dim that a tensor of {ndim} dims does not have")
        return "S", dim % ndim, unit, sizes


def split(dim: int, unit: int = 1, sizes: Sequence[int] | None = None) -> sbp:
    """Each device holds a part of a dim.

    Args:
        dim: may be negative.
        unit: the dim is cut at multiples of it (the size of a head, so that heads stay whole).
        sizes: what each device gets, where the parts should not be about equal.

    >>> import thalweg as tw
    >>> tw.sbp.split(0, sizes=(3, 1))
    sbp.split(0, sizes=[3, 1])
    """
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise TypeError(f"sbp.split: an int is wanted as dim, got {dim!r}")
    if unit < 1:
        raise ValueError(f"sbp.split: a unit of at least 1 is wanted, got {unit}")
    stated = tuple(int(size) for size in sizes) if sizes is not None else ()
    if sizes is not None and (not stated or min(stated) < 0):
        raise ValueError(f"sbp.split: sizes of at least 0 are wanted, one a device, got {sizes}")
    if stated and unit != 1:
        raise ValueError("sbp.split: unit or sizes is wanted, got both")
    return sbp(("S", dim, unit, stated))


broadcast = sbp(("B",))
partial_sum = sbp(("P", "sum"))
partial_max = sbp(("P", "max"))
partial_min = sbp(("P", "min"))


def from_core(key: tuple) -> sbp:
    """The face of what the core gives."""
    return sbp((key[0], key[1], key[2], tuple(key[3])) if key[0] == "S" else key)


def explain(
    a: Any,
    b: "sbp | Sequence[sbp]",
    shape: Sequence[int] | None = None,
    *,
    placement: Optional["Placement"] = None,
    to_placement: Optional["Placement"] = None,
    dtype: Any = None,
) -> str:
    """Says what turning layout `a` into layout `b` takes: the steps, and the bytes that each rank sends in them.

    Args:
        a: a global tensor, or an sbp or a list of them; then `shape` and `placement` are wanted too.
        b: an sbp, or one for each axis.
        shape: of the whole tensor.
        placement: where `a` lies.
        to_placement: where `b` lies; by default where `a` does.
        dtype: the tensor's, or the default float, unless given.

    >>> import thalweg as tw
    >>> line = tw.placement("cpu", [0, 1])
    >>> print(tw.sbp.explain(tw.sbp.split(0), tw.sbp.broadcast, (4, 3), placement=line))
    cpu[0, 1] S(0) → cpu[0, 1] B, shape [4, 3], 4 bytes an element
    1. all_gather over axis 0: 48 bytes (rank 0 sends 24, rank 1 sends 24)
    """
    before: Any = a
    if getattr(a, "is_global", False):
        before, shape, placement, dtype = a.sbp, a.shape, a.placement, dtype or a.dtype
    if shape is None or placement is None:
        raise TypeError("sbp.explain: a global tensor, or an sbp with shape= and placement=, is wanted")
    layouts = []
    for where, listed in ((placement, before), (to_placement or placement, b)):
        each = (listed,) if isinstance(listed, sbp) else tuple(listed)
        if not all(isinstance(item, sbp) for item in each):
            raise TypeError(f"sbp.explain: an sbp, or a list with one for each axis, is wanted, got {listed!r}")
        layouts.append(_native.Layout(where._core, [item._on(len(shape), "sbp.explain") for item in each]))
    return _native.explain_boxing(*layouts, list(shape), dtype or _native.default_dtype()).rstrip()
