"""Tensors of a size and a value that are given, or like another tensor."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, dtype, set_empty
from thalweg._registry import export, ops
from thalweg.frontend.device import Device, placed, placed_like
from thalweg.frontend.from_data import finish, tensor
from thalweg.frontend.global_creation import created, created_like
from thalweg.frontend.layout import empty_in_format, empty_of
from thalweg.frontend.placement import Sbp, placement
from thalweg.sbp import broadcast

__all__ = ["empty", "empty_like"]


def creation_size(size: tuple, op: str) -> list[int]:
    """The sizes given as f(2, 3) or f((2, 3)), checked to be ints."""
    if len(size) == 1 and isinstance(size[0], (tuple, list, Tensor)):
        size = tuple(size[0])
    sizes = []
    for item in size:
        if isinstance(item, (bool, float, str)) or not hasattr(item, "__index__"):
            raise TypeError(f"{op}: sizes must be ints, got {type(item).__name__}")
        sizes.append(item.__index__())
    return sizes


def default_dtype(given: dtype | None) -> dtype:
    """The dtype asked for, else the default float."""
    return given if given is not None else _native.default_dtype()


def _sized(op: str, size: tuple, make: Any, where: placement | None, sbp: Sbp | None, requires_grad: bool) -> Tensor:
    """A global tensor of a size that is given, as f(2, 3) or f((2, 3))."""
    sizes = creation_size(size, op)
    return created(op, lambda: make(sizes), where, sbp, requires_grad, len(sizes))


@export(function=True)
@placed
def empty(
    *size: Any,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of the given size with unset elements."""
    if placement is not None or sbp is not None:
        return _sized("empty", size, lambda sizes: empty(sizes, dtype=dtype), placement, sbp, requires_grad)
    return finish(empty_of(creation_size(size, "empty"), default_dtype(dtype), memory_format, "empty"), requires_grad)


@export(function=True)
@placed
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the given size and strides with unset elements."""
    return finish(_native.empty_strided(list(size), list(stride), default_dtype(dtype)), requires_grad)


@export(function=True)
@placed_like
def empty_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor with the size and dtype of `input` and unset elements."""
    if placement is not None or sbp is not None or _native.is_global(input):
        make = partial(empty, input.shape, dtype=dtype or input.dtype)
        return created_like("empty_like", make, input, placement, sbp, requires_grad)
    return finish(empty_in_format(input, dtype or input.dtype, memory_format, "empty_like"), requires_grad)


@export(function=True)
@placed
def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of the given size whose elements all equal fill_value.

    >>> import thalweg as tw
    >>> tw.full((2,), 7)
    tensor([7, 7])
    """
    if placement is not None or sbp is not None:
        return _sized(
            "full", (size,), lambda sizes: full(sizes, fill_value, dtype=dtype), placement, sbp, requires_grad
        )
    return finish(ops.full(creation_size((size,), "full"), fill_value, dtype=dtype), requires_grad)


@export(function=True)
@placed
def zeros(
    *size: Any,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of zeros."""
    if placement is not None or sbp is not None:
        return _sized("zeros", size, lambda sizes: zeros(sizes, dtype=dtype), placement, sbp, requires_grad)
    return finish(ops.full(creation_size(size, "zeros"), 0, dtype=default_dtype(dtype)), requires_grad)


@export(function=True)
@placed
def ones(
    *size: Any,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of ones."""
    if placement is not None or sbp is not None:
        return _sized("ones", size, lambda sizes: ones(sizes, dtype=dtype), placement, sbp, requires_grad)
    return finish(ops.full(creation_size(size, "ones"), 1, dtype=default_dtype(dtype)), requires_grad)


@export(function=True)
@placed_like
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor with the size and dtype of `input` whose elements all equal fill_value."""
    wanted = dtype or input.dtype
    if placement is not None or sbp is not None or _native.is_global(input):
        make = partial(full, input.shape, fill_value, dtype=wanted)
        return created_like("full_like", make, input, placement, sbp, requires_grad)
    if memory_format is None and input.is_contiguous():
        return full(input.shape, fill_value, dtype=wanted, device=device, requires_grad=requires_grad)
    return finish(empty_in_format(input, wanted, memory_format, "full_like").fill_(fill_value), requires_grad)


@export(function=True)
def zeros_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of zeros with the size and dtype of `input`."""
    return full_like(
        input, 0, dtype=dtype, device=device, requires_grad=requires_grad, memory_format=memory_format,
        placement=placement, sbp=sbp,
    )  # fmt: skip


@export(function=True)
def ones_like(
    input: Tensor,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of ones with the size and dtype of `input`."""
    return full_like(
        input, 1, dtype=dtype, device=device, requires_grad=requires_grad, memory_format=memory_format,
        placement=placement, sbp=sbp,
    )  # fmt: skip


def _device_beside(input: Tensor) -> Device:
    return input.device if input.is_cuda and not _native.is_global(input) else None


def _beside(input: Tensor, where: placement | None, sbp: Sbp | None) -> tuple:
    """Where something new beside `input` lies: broadcast on its placement, unless stated."""
    if not _native.is_global(input):
        return where, sbp
    where = placement._of(_native.layout_of(input, "new").placement) if where is None else where
    return where, [broadcast] * where.ndim if sbp is None else sbp


@export(method=True)
def new_empty(
    self: Tensor,
    *size: Any,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of unset elements with the dtype of this one."""
    placement, sbp = _beside(self, placement, sbp)
    return empty(
        *size,
        dtype=dtype or self.dtype,
        device=device or _device_beside(self),
        requires_grad=requires_grad,
        placement=placement,
        sbp=sbp,
    )


@export(method=True)
def new_zeros(
    self: Tensor,
    *size: Any,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of zeros with the dtype of this one."""
    placement, sbp = _beside(self, placement, sbp)
    return zeros(
        *size,
        dtype=dtype or self.dtype,
        device=device or _device_beside(self),
        requires_grad=requires_grad,
        placement=placement,
        sbp=sbp,
    )


@export(method=True)
def new_ones(
    self: Tensor,
    *size: Any,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of ones with the dtype of this one."""
    placement, sbp = _beside(self, placement, sbp)
    return ones(
        *size,
        dtype=dtype or self.dtype,
        device=device or _device_beside(self),
        requires_grad=requires_grad,
        placement=placement,
        sbp=sbp,
    )


@export(method=True)
def new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor of one number with the dtype of this one."""
    placement, sbp = _beside(self, placement, sbp)
    return full(
        size, fill_value, dtype=dtype or self.dtype, device=device or _device_beside(self),
        requires_grad=requires_grad, placement=placement, sbp=sbp,
    )  # fmt: skip


@export(method=True)
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    placement: placement | None = None,
    sbp: Sbp | None = None,
) -> Tensor:
    """A tensor that copies `data`, with the dtype of this one."""
    placement, sbp = _beside(self, placement, sbp)
    return tensor(
        data,
        dtype=dtype or self.dtype,
        device=device or _device_beside(self),
        requires_grad=requires_grad,
        placement=placement,
        sbp=sbp,
    )


set_empty(_native.empty([0], _native.default_dtype()))
