"""Layouts and memory formats: how PyTorch names the order of a tensor's elements in memory.

channels_last gives a tensor whose strides run over the channels (dim 1) fastest. Convolutions, pools and batch norm
keep it, and pointwise operations keep any order of dims; most other results are row-major.
"""

from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach, dtype
from thalweg._registry import ops

__all__ = [
    "channels_last", "channels_last_3d", "check_layout", "contiguous_format", "copy_in_format", "empty_in_format",
    "empty_of", "in_format", "is_in_format", "layout", "memory_format", "preserve_format", "strided", "strides_tell",
]  # fmt: skip


class _Named:
    """A constant that prints and pickles by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"thalweg.{self.name}"

    def __reduce__(self) -> tuple:
        return _by_name, (self.name,)


class layout(_Named):
    """How a tensor stores its elements; there is `strided` only."""


class memory_format(_Named):
    """An order of the elements in memory."""


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

_CHANNELS_LAST = {channels_last: 4, channels_last_3d: 5}


def _by_name(name: str) -> Any:
    return globals()[name]


def check_layout(wanted: Any, op: str) -> None:
    """Refuses a layout other than `strided`."""
    if wanted is not None and wanted is not strided:
        raise RuntimeError(f"{op}: the layout thalweg.strided is wanted, got {wanted}")


def _order(tensor: Tensor, wanted: memory_format, op: str) -> list[int]:
    """The dims from slowest to fastest."""
    if not isinstance(wanted, memory_format):
        raise TypeError(f"{op}: a memory format is wanted, got {wanted}")
    rank = _CHANNELS_LAST.get(wanted, tensor.ndim)
    if tensor.ndim != rank:
        raise RuntimeError(f"{op}: {wanted} wants a tensor of {rank} dims, got {tensor.ndim}")
    return [0, *range(2, rank), 1] if wanted in _CHANNELS_LAST else list(range(rank))


def is_in_format(tensor: Tensor, wanted: Any, op: str) -> bool:
    """Whether the elements lie in the order of a memory format, without gaps."""
    if wanted is None or wanted is contiguous_format:
        return _native.is_contiguous(tensor)
    if wanted in _CHANNELS_LAST and tensor.ndim != _CHANNELS_LAST[wanted]:
        return False
    return _native.is_contiguous(tensor.permute(_order(tensor, wanted, op)))


def strides_tell(tensor: Tensor, wanted: Any, op: str) -> bool:
    """Whether the strides name a memory format, also with gaps; where they name neither, contiguous_format is meant."""
    _order(tensor, wanted, op)
    channels_last = _native.is_channels_last(tensor)
    return channels_last and tensor.ndim == _CHANNELS_LAST[wanted] if wanted in _CHANNELS_LAST else not channels_last


def copy_in_format(tensor: Tensor, wanted: Any, op: str) -> Tensor:
    """A copy whose elements lie in the order of a memory format; in the tensor's own order where None is wanted."""
    if wanted is None or wanted is preserve_format:
        return ops.clone(tensor)
    order = _order(tensor, wanted, op)
    if wanted is contiguous_format:
        return ops.row_major(tensor)
    return ops.row_major(tensor.permute(order)).permute(sorted(range(len(order)), key=order.__getitem__))


def in_format(tensor: Tensor, wanted: Any, op: str) -> Tensor:
    """The tensor, copied where its elements do not lie in the order of a memory format."""
    if wanted is None or wanted is preserve_format:
        return tensor
    _order(tensor, wanted, op)
    return tensor if is_in_format(tensor, wanted, op) else copy_in_format(tensor, wanted, op)


def empty_in_format(input: Tensor, dtype: dtype, wanted: Any, op: str) -> Tensor:
    """Unset elements with the size of `input`, by default in its order in memory."""
    if wanted is None or wanted is preserve_format:
        if _native.is_contiguous(input):
            return _native.empty(list(input.shape), dtype)
        return _native.empty_strided(list(input.shape), _native.dense_strides(input), dtype)
    _order(input, wanted, op)
    return empty_of(list(input.shape), dtype, wanted, op)


def empty_of(size: list[int], dtype: dtype, wanted: Any, op: str) -> Tensor:
    """Unset elements in a memory format."""
    if wanted is None or wanted is contiguous_format:
        return _native.empty(size, dtype)
    if wanted not in _CHANNELS_LAST:
        raise RuntimeError(f"{op}: contiguous_format or a channels_last format is wanted, got {wanted}")
    if len(size) != _CHANNELS_LAST[wanted]:
        raise RuntimeError(f"{op}: {wanted} wants a tensor of {_CHANNELS_LAST[wanted]} dims, got {len(size)}")
    return _native.empty_strided(size, _native.channels_last_strides(size), dtype)


attach("layout", property(lambda self: strided, doc="How the elements are stored: thalweg.strided."))
