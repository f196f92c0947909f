"""Groups of processes, and the one of all."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from thalweg._core import _native
from thalweg.distributed.work import milliseconds

__all__ = [
    "GroupMember",
    "ProcessGroup",
    "ReduceOp",
    "call_origin",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_transport",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_initialized",
    "is_torchelastic_launched",
    "member_of",
    "new_group",
    "resolve",
]

_DEFAULT_TIMEOUT = timedelta(minutes=30)
_RENDEZVOUS_TIMEOUT = timedelta(minutes=5)


class ReduceOp(enum.Enum):
    """How elements of several ranks become one. AVG is the sum over the number of ranks, of floats alone."""

    SUM = 0
    PRODUCT = 1
    MIN = 2
    MAX = 3
    AVG = 4


class ProcessGroup:
    """Ranks that make calls together, in the order given; made by `new_group`."""

    def __init__(self, ranks: Sequence[int], timeout: timedelta | float) -> None:
        processes, mine = _native.world()
        for rank in ranks:
            if not 0 <= rank < len(processes):
                raise ValueError(f"new_group: a rank below {len(processes)} is wanted, got {rank}")
        self.ranks = tuple(ranks)
        self.timeout_ms = milliseconds(timeout)
        self._rank = self.ranks.index(mine) if mine in self.ranks else -1
        self._group: Any = None
        if self._rank >= 0:  # others are told so when they call; they need no group for it
            self._group = _native.CommGroup([processes[rank][0] for rank in ranks], self.timeout_ms)

    def rank(self) -> int:
        """The place of this process in the group, or -1."""
        return self._rank

    def size(self) -> int:
        """The number of ranks."""
        return len(self.ranks)

    def core(self, op: str) -> Any:
        """The group of the core. Raises ValueError where this process is no member."""
        if self._group is None:
            raise ValueError(f"{op}: this process is not in {self!r}")
        return self._group

    def __repr__(self) -> str:
        return f"group {list(self.ranks)}"


class _Groups:
    """The state of the module: the group of all processes while there is one."""

    everyone: ProcessGroup | None = None


class _GroupNames(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes."""
        return _Groups.everyone


class group(metaclass=_GroupNames):
    """`group.WORLD` is the group of all processes."""

    NON_GROUP_MEMBER = -100


GroupMember = group


def is_available() -> bool:
    """Whether this package can be used: always."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return _Groups.everyone is not None


def is_torchelastic_launched() -> bool:
    """Whether torchrun has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | float | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: None = None,
    group_name: str = "",
) -> None:
    """Meets the other processes of the job, and makes the group of all.

    Without arguments the environment says who they are: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as
    `thalweg run` and torchrun set them, or what mpirun and Slurm set; with none of these the job is this process.
    `init_method` may be "env://" or "tcp://host:port", the latter with `rank` and `world_size`. `backend` is
    accepted for programs that name one; `get_backend` says "thalweg", and `get_transport` how bytes get to a rank.
    `timeout`, seconds or a timedelta, is that of every call of the group, and of what global tensors send, 30 minutes
    unless given.

    Raises RuntimeError when it has been called before, ValueError on arguments that do not fit, CommError when
    some processes do not come within five minutes, or within `timeout` where that is less.

    >>> import thalweg.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if _Groups.everyone is not None:
        raise RuntimeError("init_process_group: it has been called before")
    if store is not None:
        raise ValueError("init_process_group: stores are not supported; use init_method")
    limit = _DEFAULT_TIMEOUT if timeout is None else timeout
    meeting_ms = min(milliseconds(limit), milliseconds(_RENDEZVOUS_TIMEOUT))
    target = urlparse(init_method or "env://")
    if target.scheme == "tcp":
        query = parse_qs(target.query)
        rank = int(query.get("rank", [rank])[0])
        world_size = int(query.get("world_size", [world_size])[0])
        if rank < 0 or world_size < 1 or not target.hostname or not target.port:
            raise ValueError(
                f"init_process_group: tcp://host:port with rank and world_size is wanted, got {init_method!r}, "
                f"rank {rank}, world_size {world_size}"
            )
        _native.init_job(rank, world_size, target.hostname, target.port, meeting_ms)
    elif target.scheme == "env":
        if rank >= 0:
            os.environ["RANK"] = str(rank)
        if world_size >= 0:
            os.environ["WORLD_SIZE"] = str(world_size)
        _native.begin_job(meeting_ms)
    else:
        raise ValueError(f"init_process_group: env:// or tcp:// is wanted, got {init_method!r}")
    _Groups.everyone = ProcessGroup(range(len(_native.world()[0])), limit)
    _native.set_shared_timeout(_Groups.everyone.timeout_ms)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forgets a group, or all of them. The processes stay connected, so that it can be followed by a new start."""
    if group is None or group is _Groups.everyone:
        _Groups.everyone = None


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | float | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> ProcessGroup:
    """A group of these ranks, in this order, or of all.

    Nobody waits for anybody here. Processes that are not in it need not call this, and get a group that refuses
    calls. Raises ValueError on ranks that do not exist or come twice.
    """
    everyone = resolve(None)
    chosen = everyone.ranks if ranks is None else tuple(ranks)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"new_group: a rank comes twice in {list(chosen)}")
    if not chosen:
        raise ValueError("new_group: at least one rank is wanted, got none")
    return ProcessGroup(chosen, everyone.timeout_ms / 1000 if timeout is None else timeout)


def get_rank(group: ProcessGroup | None = None) -> int:
    """The number of this process in a group or among all; -1 where it is no member."""
    return resolve(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes of a group or of all; -1 where this one is no member."""
    found = resolve(group)
    return found.size() if found.rank() >= 0 else -1


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of the transport: "thalweg"."""
    resolve(group)
    return "thalweg"


def get_transport(rank: int, group: ProcessGroup | None = None) -> str:
    """How bytes get to a rank: "shared memory" within a machine, "ucx" or "tcp" between two, "self" to this one.

    UCX is taken where both sides have the same version of it (`pip install 'thalweg[cluster]'`); the environment
    variable THALWEG_TRANSPORT (ucx or tcp) leaves no choice. Raises ValueError where the group has no such rank.

    >>> import thalweg.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_transport(0)
    'self'
    >>> dist.destroy_process_group()
    """
    ranks = resolve(group).ranks
    if not 0 <= rank < len(ranks):
        raise ValueError(f"get_transport: a rank below {len(ranks)} is wanted, got {rank}")
    return _native.transport_to(ranks[rank])


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of a group, in its order."""
    return list(resolve(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank among all of a member. Raises ValueError where the group has none."""
    ranks = resolve(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"get_global_rank: a number below {len(ranks)} is wanted, got {group_rank}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of a rank. Raises ValueError where it is no member."""
    return member_of(resolve(group), global_rank, "get_group_rank")


def member_of(group: ProcessGroup, rank: int, op: str) -> int:
    """The place of a rank in a group. Raises ValueError where it has none."""
    if rank not in group.ranks:
        raise ValueError(f"{op}: a rank of {group!r} is wanted, got {rank}")
    return group.ranks.index(rank)


def resolve(group: ProcessGroup | None) -> ProcessGroup:
    """The group that is meant: that of all for None. Raises ValueError before `init_process_group`."""
    found = _Groups.everyone if group is None else group
    if found is None:
        raise ValueError("distributed: init_process_group has not been called")
    return found


def call_origin() -> str:
    """Where the user called: the first line that is not of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("thalweg."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
