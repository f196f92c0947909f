"""Where global tensors live: a kind of device and an array of ranks."""

from collections.abc import Sequence
from typing import Any

import thalweg.sbp as sbp_module
from thalweg._core import _native
from thalweg.frontend import device as devices

__all__ = ["Sbp", "layout_for", "placement", "sbp_tuple"]

Sbp = sbp_module.sbp | Sequence[sbp_module.sbp]


def _flat(ranks: Any) -> tuple[list[int], list[int]]:
    """The shape of nested sequences (or of an array) of ints, and the ints in row-major order."""
    if hasattr(ranks, "tolist"):
        ranks = ranks.tolist()
    if hasattr(ranks, "__index__"):
        return [], [ranks.__index__()]
    if not isinstance(ranks, (list, tuple, range)):
        raise TypeError(f"placement: ranks as nested sequences of ints are wanted, got {type(ranks).__name__}")
    parts = [_flat(item) for item in ranks]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise ValueError(f"placement: rows of one length are wanted, got {ranks}")
    return [len(parts), *(parts[0][0] if parts else [])], [rank for _, flat in parts for rank in flat]


class placement:
    """A device type and an n-d array of ranks, in the order given.

    Args:
        type: "cpu" or "cuda".
        ranks: nested sequences or an array of ints; each level is an axis. One int stands for [int].

    >>> import thalweg as tw
    >>> p = tw.placement("cpu", [[0, 1], [2, 3]])
    >>> p.type, p.ranks.tolist(), p.device_count
    ('cpu', [[0, 1], [2, 3]], 4)
    """

    __slots__ = ("_core",)

    def __init__(self, type: str, ranks: Any) -> None:
        if type == "cuda":
            devices.load_cuda()  # whose errors are those of whoever needs the devices: a plan needs none
        elif type != "cpu":
            raise ValueError(f"placement: cpu or cuda is wanted, got {type!r}")
        shape, flat = _flat(ranks)
        self._core = _native.Placement(type, shape or [1], flat)

    @classmethod
    def all(cls, type: str) -> "placement":
        """All ranks of the job, on one axis.

        >>> import thalweg as tw
        >>> tw.placement.all("cpu")
        placement(type="cpu", ranks=[0])
        """
        return cls(type, range(sum(count for _, count, _ in _native.world()[0])))

    @classmethod
    def _of(cls, core: Any) -> "placement":
        found = cls.__new__(cls)
        found._core = core
        return found

    def _on(self, type: str) -> "placement":
        return placement(type, self.ranks)

    @property
    def type(self) -> str:
        """The kind of device."""
        return self._core.type

    @property
    def ranks(self) -> Any:
        """The ranks, as a NumPy array."""
        return _native.as_array(self._core.ranks).reshape(self._core.shape)

    @property
    def device_count(self) -> int:
        """How many devices it has."""
        return len(self._core.ranks)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of ranks."""
        return tuple(self._core.shape)

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self._core.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, placement) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __reduce__(self) -> tuple:
        return placement, (self.type, self.ranks.tolist())

    def __repr__(self) -> str:
        return f'placement(type="{self.type}", ranks={self.ranks.tolist()})'


def sbp_tuple(sbp: Sbp, op: str) -> tuple[sbp_module.sbp, ...]:
    """One sbp or a sequence of them as a tuple, checked."""
    listed = (sbp,) if isinstance(sbp, sbp_module.sbp) else sbp
    if not isinstance(listed, (list, tuple)) or not all(isinstance(item, sbp_module.sbp) for item in listed):
        raise TypeError(f"{op}: an sbp, or a list with one for each axis of the placement, is wanted, got {sbp!r}")
    return tuple(listed)


def layout_for(where: placement, sbp: Sbp, ndim: int, op: str) -> "_native.Layout":
    """The layout of a tensor of `ndim` dims."""
    if not isinstance(where, placement):
        raise TypeError(f"{op}: a placement is wanted, got {type(where).__name__}")
    return _native.Layout(where._core, [item._on(ndim, op) for item in sbp_tuple(sbp, op)])
