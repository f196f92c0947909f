"""The CPU as a device: its allocators' statistics, under the names that torch.cuda uses for a GPU.

One CPU can be cut into several devices (`tw.env.init`), each with an allocator of its own. Functions that take a
device mean the first one unless it is given, as a number, a name such as "cpu:1", or a `tw.device`.
"""

from __future__ import annotations

from thalweg._core import _native
from thalweg.frontend.device import device as Device

__all__ = [
    "device_count",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "synchronize",
]


def is_available() -> bool:
    """Whether tensors can be made on the CPU: always."""
    return True


def device_count() -> int:
    """The number of devices that the CPU is cut into: those of `tw.env.init`, or 1."""
    return _native.cpu_device_count()


def synchronize(device: Device | str | int | None = None) -> None:
    """Waits until all work is done: `tw.synchronize`. Only steps of asynchronous programs are ever waited for."""
    _native.synchronize()


def memory_stats(device: Device | str | int | None = None) -> dict[str, int]:
    """Bytes handed out now and at most, bytes taken from the system, and the number of allocations so far.

    Raises DeviceError where there is no such device, ValueError where it is none of the CPU.

    >>> import thalweg as tw
    >>> before = tw.cpu.memory_stats()["allocation_count"]
    >>> x = tw.zeros(1000)
    >>> tw.cpu.memory_stats()["allocation_count"] > before
    True
    """
    return _native.memory_stats(_index_of(device))


def memory_allocated(device: Device | str | int | None = None) -> int:
    """Bytes of the blocks that tensors hold now."""
    return memory_stats(device)["allocated_bytes"]


def max_memory_allocated(device: Device | str | int | None = None) -> int:
    """The most bytes that tensors have held at once since the start or the last reset."""
    return memory_stats(device)["peak_allocated_bytes"]


def memory_reserved(device: Device | str | int | None = None) -> int:
    """Bytes taken from the system, blocks kept for reuse included."""
    return memory_stats(device)["reserved_bytes"]


def reset_peak_memory_stats(device: Device | str | int | None = None) -> None:
    """Counts the peak anew from what is held now."""
    _native.reset_peak_memory_stats(_index_of(device))


def empty_cache(device: Device | str | int | None = None) -> None:
    """Gives blocks that no tensor holds back to the system; of all devices unless one is given."""
    for index in range(device_count()) if device is None else [_index_of(device)]:
        _native.empty_cache(index)


def _index_of(device: Device | str | int | None) -> int:
    if device is None or isinstance(device, int):
        return device or 0
    found = Device(device)
    if found.type != "cpu":
        raise ValueError(f"cpu: a device of the CPU is wanted, got {found}")
    return found.index or 0
