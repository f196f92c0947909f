"""Messages from one rank to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg.autograd.modes import no_grad
from thalweg.distributed.group import ProcessGroup, call_origin, member_of, resolve
from thalweg.distributed.work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None
) -> Work:
    """Sends `tensor` to rank `dst`; it must not change before the work returned is complete."""
    chosen = resolve(group)
    core = chosen.core("send")
    to = group_dst if group_dst is not None else member_of(chosen, dst, "send")
    return Work(core.post_message(True, tensor.detach().contiguous(), chosen.rank(), to, tag, call_origin()))


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work:
    """Receives into `tensor` what rank `src` sends with this tag: the same dtype and number of elements."""
    chosen = resolve(group)
    core = chosen.core("recv")
    if src is None and group_src is None:
        raise ValueError("recv: the rank that sends is wanted, got none")
    source = group_src if group_src is not None else member_of(chosen, src or 0, "recv")
    memory = tensor.detach() if tensor.is_contiguous() else tensor.detach().contiguous()

    def spread() -> None:
        with no_grad():
            tensor.copy_(memory)

    request = core.post_message(False, memory, source, chosen.rank(), tag, call_origin())
    return Work(request, None if tensor.is_contiguous() else spread)


def send(
    tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Sends `tensor` to rank `dst`; returns when it may change. Raises CommError when that rank is gone."""
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receives into `tensor` from rank `src`, whose number it returns."""
    irecv(tensor, src, group, tag, group_src).wait()
    return src if src is not None else resolve(group).ranks[group_src or 0]


class P2POp:
    """A message that `batch_isend_irecv` is to post: `op` is `isend` or `irecv`, `peer` the other rank."""

    def __init__(
        self,
        op: Callable[..., Work],
        tensor: Tensor,
        peer: int,
        group: ProcessGroup | None = None,
        tag: int = 0,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: isend or irecv is wanted, got {op!r}")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag


def batch_isend_irecv(p2p_op_list: Sequence[Any]) -> list[Work]:
    """Posts all messages, and returns the work of each."""
    if not p2p_op_list:
        raise ValueError("batch_isend_irecv: at least one P2POp is wanted, got none")
    return [entry.op(entry.tensor, entry.peer, entry.group, entry.tag) for entry in p2p_op_list]
