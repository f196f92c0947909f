"""The job around this process: how many ranks it has, and which of them this process owns.

A rank is the number of a device in the whole job. One process owns one rank unless it is told otherwise, so that a
program for many devices can be tried in one process: `tw.env.init(devices_per_process=8)`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from thalweg._core import _native
from thalweg.frontend.placement import placement

__all__ = [
    "addressable_ranks",
    "all_device_placement",
    "get_local_rank",
    "get_node_size",
    "get_rank",
    "get_world_size",
    "init",
]


def _ucx_library() -> str:
    """The library of the wheel that the extra `cluster` installs; empty without it."""
    found = find_spec("libucx")
    folders = found.submodule_search_locations if found else None
    library = Path(folders[0], "lib", "libucp.so.0") if folders else None
    return str(library) if library and library.exists() else ""


_native.set_ucx_library(_ucx_library())  # a job may begin with any call; the library is loaded when one does


def init(*, devices_per_process: int = 1) -> None:
    """Cuts the CPU of this process into devices, each a rank with memory of its own.

    In a job of one process it may be called again with another number; tensors on ranks that no longer exist stay
    readable. Raises ValueError below 1 and above 256, RuntimeError in a job of several processes that has begun with
    another number.

    >>> import thalweg as tw
    >>> tw.env.init(devices_per_process=4)
    >>> tw.env.get_world_size(), list(tw.env.addressable_ranks())
    (4, [0, 1, 2, 3])
    >>> tw.env.init()
    """
    _native.set_devices(devices_per_process)


def get_rank() -> int:
    """The first rank that this process owns."""
    processes, mine = _native.world()
    return processes[mine][0]


def get_world_size() -> int:
    """The number of ranks of the job.

    >>> import thalweg as tw
    >>> tw.env.get_world_size()
    1
    """
    return sum(count for _, count, _ in _native.world()[0])


def addressable_ranks() -> range:
    """The ranks that this process owns; rank `addressable_ranks()[i]` is the device "cpu:i" here."""
    processes, mine = _native.world()
    first, count, _ = processes[mine]
    return range(first, first + count)


def get_local_rank() -> int:
    """How many ranks on this machine come before the first one of this process."""
    processes, mine = _native.world()
    host = processes[mine][2]
    return sum(count for _, count, where in processes[:mine] if where == host)


def get_node_size() -> int:
    """The number of machines."""
    return len({host for _, _, host in _native.world()[0]})


def all_device_placement(type: str) -> placement:
    """All ranks of the job, on one axis: `tw.placement.all`.

    >>> import thalweg as tw
    >>> tw.env.all_device_placement("cpu").ranks
    array([0])
    """
    return placement.all(type)
