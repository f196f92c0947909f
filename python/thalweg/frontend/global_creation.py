"""Global tensors from nothing: the parts are made where they lie, with the numbers that one device would have."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import thalweg.sbp as sbp_module
from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.frontend.placement import Sbp, layout_for, placement, sbp_tuple

__all__ = ["beside", "created", "created_like", "like", "spread"]

_BROADCAST = sbp_module.broadcast


class creating:
    """What ops make from nothing is laid out this way within the context."""

    __slots__ = ("_before", "_layout")

    def __init__(self, layout: "_native.Layout | None") -> None:
        self._layout = layout

    def __enter__(self) -> None:
        self._before = _native.set_creation(self._layout)

    def __exit__(self, *_: object) -> None:
        _native.set_creation(self._before)


def _checked(where: placement | None, sbp: Sbp | None, op: str) -> tuple[placement, tuple]:
    if where is None or sbp is None:
        raise ValueError(f"{op}: placement and sbp are wanted together, got {where} and {sbp}")
    return where, sbp_tuple(sbp, op)


def created(
    op: str, make: Callable[[], Tensor], where: placement | None, sbp: Sbp | None, requires_grad: bool,
    ndim: int | None = None,
) -> Tensor:  # fmt: skip
    """What `make` makes, laid out as stated.

    Args:
        ndim: of the result, where all its parts can be made in place; None: each device makes the whole first.
    """
    where, how = _checked(where, sbp, op)
    direct = ndim is not None and all(item._key[0] != "P" for item in how)
    layout = layout_for(where, how if direct else [_BROADCAST] * where.ndim, ndim if direct and ndim else 0, op)
    with creating(layout):
        result = make()
    result = _native.to_global(result.detach(), layout_for(where, how, result.ndim, op), None)
    if requires_grad:
        result.requires_grad = True
    return result


def spread(op: str, whole: Tensor, where: placement | None, sbp: Sbp | None, requires_grad: bool) -> Tensor:
    """A local tensor that every process has, laid out as stated."""
    where, how = _checked(where, sbp, op)
    result = _native.whole_to_global(whole.detach(), layout_for(where, how, whole.ndim, op), None)
    if requires_grad:
        result.requires_grad = True
    return result


def _on_device_of(input: Tensor) -> AbstractContextManager:
    return _native.Placed(f"cuda:{input.get_device()}") if input.is_cuda else creating(None)


def like(input: Tensor) -> AbstractContextManager:
    """What ops make from nothing lies as `input`, sums complete, within the context; on the device of a local one."""
    if not _native.is_global(input):
        return _on_device_of(input)
    layout = _native.layout_of(input, "like")
    keys = [("B",) if key[0] == "P" else key for key in layout.sbp]
    return creating(_native.Layout(layout.placement, keys))


def beside(input: Tensor) -> AbstractContextManager:
    """What ops make from nothing lies where `input` does: on its device, or broadcast on its placement."""
    if not _native.is_global(input):
        return _on_device_of(input)
    where = _native.layout_of(input, "beside").placement
    return creating(_native.Layout(where, [("B",)] * len(where.shape)))


def created_like(
    op: str, make: Callable[[], Tensor], input: Tensor, where: placement | None, sbp: Sbp | None, requires_grad: bool
) -> Tensor:
    """created() where placement and sbp are by default those of `input`."""
    if where is None and sbp is None and not _native.is_decided(input):
        with beside(input):
            result = make().detach()
        return result.requires_grad_() if requires_grad else result
    if _native.is_global(input):
        if where is None:
            where = placement._of(_native.layout_of(input, op).placement)
        if sbp is None:
            keys = _native.layout_of(input, op).sbp
            sbp = [_BROADCAST if key[0] == "P" else sbp_module.from_core(key) for key in keys]
    return created(op, make, where, sbp, requires_grad, input.ndim)
