"""The exceptions that the core raises beyond Python's own."""

from thalweg._core import _tensor

__all__ = ["CommError", "DeviceError", "InternalError", "OutOfMemoryError", "PlacementError"]


class InternalError(RuntimeError):
    """A broken invariant of thalweg's own: please report it."""


class PlacementError(ValueError):
    """Placements or SBP signatures that do not fit together."""


class DeviceError(RuntimeError):
    """A device or its library is missing or has failed."""


class OutOfMemoryError(MemoryError):
    """A device has no memory left for a tensor."""


class CommError(OSError, RuntimeError):
    """A peer or a link between ranks has failed. An OSError, and as torch.distributed raises them, a RuntimeError."""


# In the order of ErrorKind in cpp/base/error.h.
_BY_KIND = (
    ValueError,
    TypeError,
    IndexError,
    RuntimeError,
    NotImplementedError,
    PlacementError,
    InternalError,
    OutOfMemoryError,
    OSError,
    DeviceError,
    CommError,
)
_tensor.set_exceptions(dict(enumerate(_BY_KIND)))
