"""Tensors on several placements, and scalars that all of them need."""

from __future__ import annotations

from collections.abc import Iterable

import thalweg.sbp as sbp_module
from thalweg._core._tensor import Tensor
from thalweg.frontend.global_creation import spread
from thalweg.frontend.global_tensor import local_to_global
from thalweg.frontend.placement import placement

__all__ = ["by_placement", "local_value", "one_placement", "whole_on"]


def by_placement(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """The local tensors, then those of each placement, in the order in which they come."""
    groups: dict[placement | None, list[Tensor]] = {None: []}
    for tensor in tensors:
        groups.setdefault(tensor.placement if tensor.is_global else None, []).append(tensor)
    return [group for group in groups.values() if group]


def one_placement(scalars: list[Tensor]) -> list[Tensor]:
    """Scalars on several placements, brought to all their devices: each process that has one of these knows them all.

    Local ones, which processes may have each its own of, become the largest.
    """
    if len(scalars) == 1:
        return scalars
    placed = [scalar.placement for scalar in scalars if scalar.is_global]
    ranks = sorted({rank for where in placed for rank in where.ranks.ravel().tolist()})
    where = placed[0] if len(placed) == 1 else placement(placed[0].type, ranks)
    return [whole_on(scalar, where) if scalar.is_global else _largest_on(scalar, where) for scalar in scalars]


def whole_on(scalar: Tensor, where: placement) -> Tensor:
    """A scalar that every process has, or a global one, on all devices of a placement."""
    whole = [sbp_module.broadcast] * where.ndim
    if not scalar.is_global:
        return spread("to_global", scalar, where, whole, False)
    return scalar if scalar.placement == where else scalar.to_global(where, whole)


def local_value(scalar: Tensor) -> Tensor:
    """A scalar, global or not, as a local tensor."""
    if not scalar.is_global:
        return scalar
    part = scalar.to_global(sbp=[sbp_module.broadcast] * scalar.placement.ndim).to_local()
    return part[0] if isinstance(part, tuple) else part


def _largest_on(scalar: Tensor, where: placement) -> Tensor:
    here = where._core.addressable()
    if not here:
        return whole_on(scalar, where)
    pending = [sbp_module.partial_max] * where.ndim
    parts = local_to_global([scalar] * len(here), where, pending, check_meta=False)
    return parts.to_global(sbp=[sbp_module.broadcast] * where.ndim)
