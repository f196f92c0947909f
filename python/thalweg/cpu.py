"""The CPU as a device: its allocator's statistics, under the names that torch.cuda uses for a GPU."""

from thalweg._core import _native

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
    """The number of CPU devices."""
    return 1


def synchronize() -> None:
    """Waits until all work is done: `tw.synchronize`. Only steps of asynchronous programs are ever waited for."""
    _native.synchronize()


def memory_stats() -> dict[str, int]:
    """Bytes handed out now and at most, bytes taken from the system, and the number of allocations so far.

    >>> import thalweg as tw
    >>> before = tw.cpu.memory_stats()["allocation_count"]
    >>> x = tw.zeros(1000)
    >>> tw.cpu.memory_stats()["allocation_count"] > before
    True
    """
    return _native.memory_stats()


def memory_allocated() -> int:
    """Bytes of the blocks that tensors hold now."""
    return memory_stats()["allocated_bytes"]


def max_memory_allocated() -> int:
    """The most bytes that tensors have held at once since the start or the last reset."""
    return memory_stats()["peak_allocated_bytes"]


def memory_reserved() -> int:
    """Bytes taken from the system, blocks kept for reuse included."""
    return memory_stats()["reserved_bytes"]


def reset_peak_memory_stats() -> None:
    """Counts the peak anew from what is held now."""
    _native.reset_peak_memory_stats()


def empty_cache() -> None:
    """Gives blocks that no tensor holds back to the system."""
    _native.empty_cache()
