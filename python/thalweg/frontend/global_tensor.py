"""From local tensors to global ones and back."""

from collections.abc import Sequence
from typing import Any

import thalweg.sbp as sbp_module
from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach
from thalweg._registry import export
from thalweg.errors import PlacementError
from thalweg.frontend.placement import Sbp, layout_for, placement, sbp_tuple

__all__ = ["local_to_global"]


def sbp_of(tensor: Tensor) -> tuple:
    """The sbp of a global tensor, one for each axis of its placement.

    In a traced function only arguments, tensors of the outside and what to_global() gives have one; how the others lie
    is chosen when the program is made. RuntimeError for those.
    """
    if not _native.is_decided(tensor):
        raise RuntimeError(
            "sbp: in a traced function the sbp of a computed tensor is chosen when the program is made; "
            "to_global(sbp=...) says how it is to lie"
        )
    return tuple(sbp_module.from_core(key) for key in _native.layout_of(tensor, "sbp").sbp)


def placement_of(tensor: Tensor) -> placement:
    """The placement of a global tensor."""
    return placement._of(_native.layout_of(tensor, "placement").placement)


@export(method=True)
def to_global(
    self: Tensor,
    placement: "placement | None" = None,
    sbp: Sbp | None = None,
    *,
    grad_sbp: Sbp | None = None,
    check_meta: "bool | str" = True,
    copy: bool = False,
) -> Tensor:
    """The tensor as a global one, or a global one laid out in another way.

    A local tensor needs both `placement` and `sbp`. Where this process owns one rank of the placement and others own
    the rest, the tensor is the part of that rank, and all processes call it together. Where it owns all ranks, the
    tensor is the whole, and is laid out. Where it owns several but not all, call local_to_global with a list.

    Args:
        placement, sbp: where and how it lies; what a global tensor does not state stays.
        grad_sbp: how its gradient lies before it goes on to this tensor; by default as the tensor, sums complete.
        check_meta: compare sizes and dtypes of the parts, "values" also the elements of equal (broadcast) parts. With
            False all parts are taken to be as large as this one.
        copy: never share memory with the tensor.

    Errors: PlacementError where parts and layout do not fit.

    >>> import thalweg as tw
    >>> x = tw.arange(4).to_global(tw.placement("cpu", [0]), tw.sbp.broadcast)
    >>> x.to_global(sbp=tw.sbp.split(0)).sbp
    (sbp.split(0),)
    """
    if not _native.is_global(self):
        if placement is None or sbp is None:
            raise ValueError("to_global: a local tensor needs a placement and an sbp")
        return local_to_global(self, placement, sbp, grad_sbp=grad_sbp, check_meta=check_meta, copy=copy)
    where = placement_of(self) if placement is None else placement
    if sbp is None:
        sbp = sbp_of(self)
    to = layout_for(where, sbp, self.ndim, "to_global")
    grad = None
    if grad_sbp is not None:
        grad = layout_for(placement_of(self), grad_sbp, self.ndim, "to_global")
    result = _native.to_global(self, to, grad)
    return result.clone() if copy and result is self else result


@export(function=True)
def local_to_global(
    tensors: "Tensor | Sequence[Tensor]",
    placement: placement,
    sbp: Sbp,
    *,
    grad_sbp: Sbp | None = None,
    check_meta: "bool | str" = True,
    copy: bool = False,
) -> Tensor:
    """A global tensor of local ones.

    Args:
        tensors: one tensor, as for Tensor.to_global; or a list with the part of each rank of the placement that this
            process owns, in the order of the placement.
        placement, sbp, grad_sbp, check_meta, copy: as for Tensor.to_global.

    >>> import thalweg as tw
    >>> tw.local_to_global([tw.zeros(2, 3)], tw.placement("cpu", [0]), tw.sbp.split(0)).shape
    thalweg.Size([2, 3])
    """
    op = "to_global"
    single = isinstance(tensors, Tensor)
    parts = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not parts or any(not isinstance(part, Tensor) or _native.is_global(part) for part in parts):
        raise TypeError(f"{op}: a local tensor or a list of them is wanted")
    ndim = parts[0].ndim
    layout = layout_for(placement, sbp, ndim, op)
    grad = None if grad_sbp is None else layout_for(placement, grad_sbp, ndim, op)
    here = placement._core.addressable()
    # While a program is traced, no process asks another for what it need not: a part that is the whole is taken to be.
    traced = _native.is_tracing() and all(item._key[0] == "B" for item in sbp_tuple(sbp, op))
    if single and (len(here) == placement.device_count or (traced and len(here) == 1)):
        return _native.whole_to_global(parts[0], layout, grad)
    if single and len(here) > 1:
        raise PlacementError(
            f"{op}: this process owns {len(here)} of the {placement.device_count} ranks of {placement}: a list with "
            "the part of each is wanted, got one tensor"
        )
    if len(parts) != len(here):
        raise PlacementError(
            f"{op}: {len(here)} parts are wanted, one for each rank of {placement} in this process, got {len(parts)}"
        )
    if copy:
        parts = [part.clone() for part in parts]
    # All processes trace alike, so they can ask each other then, too.
    shapes = _native.outside_trace(lambda: _shapes(parts, here, placement, bool(check_meta)))
    sizes = whole_sizes(shapes, placement, sbp_tuple(sbp, op))
    for position, shape in enumerate(shapes):  # those of others too: all processes fail, or none
        wanted = layout.box(sizes, position)[1]
        if wanted != shape:
            raise PlacementError(
                f"{op}: for {layout} and a whole of shape {sizes} the part of rank "
                f"{placement.ranks.ravel()[position]} must have shape {wanted}, got {shape}"
            )
    if check_meta == "values":
        if _native.is_tracing():
            raise NotImplementedError(
                f"{op}: check_meta='values' reads the parts, which a traced function cannot; check them outside of it"
            )
        _check_values([part.detach() for part in parts], sizes, placement, layout)
    return _native.parts_to_global(parts, sizes, layout, grad)


def whole_sizes(shapes: list[list[int]], where: placement, sbp: tuple) -> list[int]:
    """The sizes of the whole, from those of all parts: a split dim is as long as its parts together."""
    ndim = len(shapes[0])
    if any(len(shape) != ndim for shape in shapes):
        raise PlacementError(f"to_global: parts with one number of dims are wanted, got shapes {shapes}")
    positions = _native.as_array(range(where.device_count)).reshape(where.shape)
    keys = [item._on(ndim, "to_global") for item in sbp]
    whole = []
    for dim in range(ndim):
        # Along the axes that split this dim, at the first device of all others.
        along = positions[tuple(slice(None) if key[:2] == ("S", dim) else 0 for key in keys)]
        whole.append(sum(shapes[position][dim] for position in along.ravel().tolist()))
    return whole


_DTYPES = tuple("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split())
_MOST_DIMS = 16  # of parts that tell each other their sizes


def _shapes(parts: list[Tensor], here: list[int], where: placement, exchange: bool) -> list[list[int]]:
    """The sizes of the parts of all ranks of a placement; `exchange`: asked of the processes that hold them."""
    shapes = [list(part.shape) for part in parts]
    if len(here) == where.device_count:
        return shapes
    if not exchange:
        return [
            shapes[here.index(position)] if position in here else shapes[0] for position in range(where.device_count)
        ]
    if parts[0].ndim > _MOST_DIMS:
        raise ValueError(f"to_global: with check_meta, at most {_MOST_DIMS} dims are wanted, got {parts[0].ndim}")
    codes = _DTYPES
    rows = [
        _native.from_values(
            [codes.index(part.dtype.name), part.ndim, *shape, *[0] * (_MOST_DIMS - part.ndim)],
            [1, _MOST_DIMS + 2],
            None,
        )
        for part, shape in zip(parts, shapes, strict=True)
    ]
    line = placement(where.type, where.ranks.ravel())
    told = _native.parts_to_global(
        rows, [where.device_count, _MOST_DIMS + 2], layout_for(line, sbp_module.split(0), 2, "to_global"), None
    ).tolist()
    dtypes = {codes[row[0]] for row in told}
    if len(dtypes) > 1:
        raise PlacementError(f"to_global: parts of one dtype are wanted, got {', '.join(sorted(dtypes))}")
    return [row[2 : 2 + row[1]] for row in told]


def _check_values(parts: list[Tensor], sizes: list[int], where: placement, layout: Any) -> None:
    """Devices that hold the same part, by the layout, must hold equal elements: their largest are their smallest."""
    bounds = []
    for reduction in ("max", "min"):
        keys = [("P", reduction) if key[0] == "B" else key for key in layout.sbp]
        pending = _native.parts_to_global(parts, sizes, _native.Layout(where._core, keys), None)
        bounds.append(_native.to_parts(_native.to_global(pending, layout, None)))
    if not all(bool((low == high).all()) for high, low in zip(*bounds, strict=True)):
        raise PlacementError(f"to_global: equal parts are wanted where {layout} is broadcast, but their values differ")


@export(method=True)
def to_local(self: Tensor, *, copy: bool = False) -> Any:
    """What this process holds of a global tensor: the part of its rank.

    A process that owns several ranks of the placement gets a tuple, in the order of the placement. The parts share
    memory with the global tensor unless copy=True. Backward, a part of a broadcast tensor has a share of the gradient.

    >>> import thalweg as tw
    >>> x = tw.ones(3).to_global(tw.placement("cpu", [0]), tw.sbp.broadcast)
    >>> x.to_local()
    tensor([1., 1., 1.])
    """
    parts = _native.to_parts(self)
    if not parts:
        raise PlacementError(f"to_local: this process has no rank of {placement_of(self)}")
    if copy:
        parts = [part.clone() for part in parts]
    return parts[0] if len(parts) == 1 else tuple(parts)


attach("is_global", property(_native.is_global, doc="Whether the tensor is laid out over a placement."))
attach("is_local", property(lambda self: not _native.is_global(self), doc="Whether the tensor is not global."))
attach("placement", property(placement_of, doc="Where a global tensor lies."))
attach("sbp", property(sbp_of, doc="How a global tensor lies: one sbp for each axis of its placement."))
