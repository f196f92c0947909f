"""The memory behind tensors, for serialization and for tests of aliasing."""

from collections.abc import Sequence

from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach
from thalweg._registry import export


class UntypedStorage:
    """The bytes that a tensor and its views share."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return _native.storage_ptr(self._tensor)

    def nbytes(self) -> int:
        """The size in bytes."""
        return _native.storage_bytes(self._tensor)

    size = __len__ = nbytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and _native.same_storage(self._tensor, other._tensor)

    def __hash__(self) -> int:
        return self.data_ptr()


@export(method=True)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this tensor looks into."""
    return UntypedStorage(self)


@export(method=True)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors are the same window on the same memory."""
    return (
        _native.same_storage(self, tensor)
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


@export(method=True)
def set_(
    self: Tensor,
    source: Tensor,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Makes this tensor a window on the memory of another."""
    if size is None:
        storage_offset, size, stride = source.storage_offset(), source.shape, source.stride()
    _native.set_geometry(self, source, storage_offset, list(size), list(stride or ()))
    return self


attach("nbytes", property(lambda self: self.numel() * self.element_size(), doc="The bytes of the elements."))
attach("itemsize", property(lambda self: self.element_size(), doc="The bytes of one element."))
