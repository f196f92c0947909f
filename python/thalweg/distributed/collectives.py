"""Collective calls on tensors. With `async_op` they return a `Work` at once; otherwise None, when they are complete.

Ranks (`src`, `dst`) are those among all processes, also in calls of a smaller group. Tensors may have any strides;
those that are not contiguous go through a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import thalweg
from thalweg._core._tensor import Tensor
from thalweg.autograd.modes import no_grad
from thalweg.distributed.group import ProcessGroup, ReduceOp, call_origin, member_of, resolve
from thalweg.distributed.work import Work

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
]

# In the order of CallKind in cpp/comm/call.h.
_ALL_REDUCE, _REDUCE, _BROADCAST, _REDUCE_SCATTER, _ALL_GATHER, _GATHER, _SCATTER, _ALL_TO_ALL, _BARRIER = range(9)


class _Call:
    """Collects what a call needs and posts it."""

    def __init__(self, kind: int, name: str, group: ProcessGroup | None) -> None:
        self.kind, self.name = kind, name
        self.group = resolve(group)
        self.core = self.group.core(name)
        self.after: list[Callable[[], None]] = []
        self.input: Tensor | None = None
        self.output: Tensor | None = None
        self.counts: list[int] = []
        self.sends: list[int] = []
        self.receives: list[int] = []
        self.count = 0
        self.reduction = 0
        self.root = 0
        self.shape: list[int] = []

    def reads(self, tensor: Tensor) -> Tensor:
        """`tensor` or a contiguous copy of it."""
        return tensor.detach().contiguous()

    def writes(self, tensor: Tensor) -> Tensor:
        """`tensor`, or contiguous memory that is copied into it in the end."""
        if tensor.is_contiguous():
            return tensor.detach()
        memory = tensor.detach().contiguous()
        self.after.append(lambda: _copy(tensor, memory))
        return memory

    def writes_list(self, tensors: Sequence[Tensor]) -> Tensor:
        """Memory for all of them one after the other, which is copied into them in the end."""
        memory = thalweg.empty(
            sum(tensor.numel() for tensor in tensors), dtype=tensors[0].dtype, device=tensors[0].device
        )

        def spread() -> None:
            offset = 0
            for tensor in tensors:
                _copy(tensor, memory[offset : offset + tensor.numel()].view(tensor.shape))
                offset += tensor.numel()

        self.after.append(spread)
        return memory

    def reduces(self, op: ReduceOp, tensor: Tensor) -> None:
        self.reduction = (ReduceOp.SUM if op is ReduceOp.AVG else op).value
        if op is ReduceOp.AVG:
            if not tensor.is_floating_point() and not tensor.is_complex():
                raise TypeError(f"{self.name}: averages of floats are possible, got {tensor.dtype}")
            self.after.append(lambda: _divide(tensor, self.group.size()))

    def post(self, async_op: bool) -> Work | None:
        tensor = self.output if self.output is not None else self.input
        parts = [] if self.kind == _BARRIER else [(self.input, self.output, self.sends, self.receives)]
        request = self.core.post(
            self.kind,
            parts,
            thalweg.float32 if tensor is None else tensor.dtype,
            self.count,
            self.counts,
            self.reduction,
            self.root,
            self.shape,
            call_origin(),
        )
        work = Work(request, self._finish if self.after else None)
        if async_op:
            return work
        work.wait()
        return None

    def _finish(self) -> None:
        for step in reversed(self.after):  # memory is divided before it is copied to where it is wanted
            step()


def _copy(to: Tensor, source: Tensor) -> None:
    with no_grad():
        to.copy_(source)


def _divide(tensor: Tensor, by: int) -> None:
    with no_grad():
        tensor.div_(by)


def _check_list(tensors: Sequence[Tensor] | None, call: _Call, what: str) -> Sequence[Tensor]:
    size = call.group.size()
    if tensors is None or len(tensors) != size:
        got = "none" if tensors is None else len(tensors)
        raise ValueError(f"{call.name}: {what} of {size} tensors, one a rank, is wanted, got {got}")
    for tensor in tensors:
        if tensor.dtype != tensors[0].dtype:
            raise TypeError(f"{call.name}: tensors of one dtype are wanted, got {tensors[0].dtype} and {tensor.dtype}")
    return tensors


def _check_parts(whole: Tensor, part: Tensor, call: _Call, what: str) -> None:
    if whole.numel() != part.numel() * call.group.size():
        raise ValueError(
            f"{call.name}: {what} of {part.numel() * call.group.size()} elements is wanted, "
            f"{call.group.size()} times {list(part.shape)}, got {list(whole.shape)}"
        )


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduces `tensor` over all ranks, in place; the result is the same on all of them, bit for bit.

    >>> import thalweg as tw, thalweg.distributed as dist
    >>> dist.init_process_group()
    >>> x = tw.tensor([1.0, 2.0])
    >>> dist.all_reduce(x, op=dist.ReduceOp.MAX)
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    call = _Call(_ALL_REDUCE, "all_reduce", group)
    call.input = call.output = call.writes(tensor)
    call.count, call.shape = tensor.numel(), list(tensor.shape)
    call.reduces(op, call.output)
    return call.post(async_op)


def reduce(
    tensor: Tensor,
    dst: int,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces `tensor` over all ranks into that of rank `dst`; those of others stay as they are."""
    call = _Call(_REDUCE, "reduce", group)
    call.root = member_of(call.group, dst, "reduce")
    call.count, call.shape = tensor.numel(), list(tensor.shape)
    if call.root == call.group.rank():
        call.input = call.output = call.writes(tensor)
        call.reduces(op, call.output)
    else:
        call.input = call.reads(tensor)
        call.reduction = (ReduceOp.SUM if op is ReduceOp.AVG else op).value
    return call.post(async_op)


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Copies the elements of `tensor` on rank `src` into that of every other rank."""
    call = _Call(_BROADCAST, "broadcast", group)
    call.root = member_of(call.group, src, "broadcast")
    call.count, call.shape = tensor.numel(), list(tensor.shape)
    if call.root == call.group.rank():
        call.input = call.reads(tensor)
    else:
        call.output = call.writes(tensor)
    return call.post(async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Copies `tensor` of rank i into `tensor_list[i]` of every rank. Sizes may differ from rank to rank."""
    call = _Call(_ALL_GATHER, "all_gather", group)
    outputs = _check_list(tensor_list, call, "a list")
    mine = outputs[call.group.rank()]
    if mine.numel() != tensor.numel():
        raise ValueError(f"all_gather: {list(mine.shape)} is wanted for this rank, got {list(tensor.shape)}")
    call.input, call.output = call.reads(tensor), call.writes_list(outputs)
    call.counts = [output.numel() for output in outputs]
    return call.post(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Joins `input_tensor` of all ranks, which are of one size, in `output_tensor`."""
    call = _Call(_ALL_GATHER, "all_gather_into_tensor", group)
    _check_parts(output_tensor, input_tensor, call, "an output")
    call.input, call.output = call.reads(input_tensor), call.writes(output_tensor)
    call.count, call.shape = input_tensor.numel(), list(input_tensor.shape)
    return call.post(async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces `input_list[i]` over all ranks into `output` of rank i. Sizes may differ from i to i."""
    call = _Call(_REDUCE_SCATTER, "reduce_scatter", group)
    inputs = _check_list(input_list, call, "a list")
    mine = inputs[call.group.rank()]
    if mine.numel() != output.numel():
        raise ValueError(f"reduce_scatter: {list(mine.shape)} is wanted for this rank, got {list(output.shape)}")
    call.input, call.output = _joined(inputs), call.writes(output)
    call.counts = [tensor.numel() for tensor in inputs]
    call.reduces(op, call.output)
    return call.post(async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces `input` over all ranks; rank i gets the i-th of equal parts in `output`."""
    call = _Call(_REDUCE_SCATTER, "reduce_scatter_tensor", group)
    _check_parts(input, output, call, "an input")
    call.input, call.output = call.reads(input), call.writes(output)
    call.count, call.shape = output.numel(), list(output.shape)
    call.reduces(op, call.output)
    return call.post(async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int = 0,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Copies `tensor` of rank i into `gather_list[i]` of rank `dst`; all are of one size."""
    call = _Call(_GATHER, "gather", group)
    call.root = member_of(call.group, dst, "gather")
    call.input = call.reads(tensor)
    call.count, call.shape = tensor.numel(), list(tensor.shape)
    if call.root == call.group.rank():
        outputs = _check_list(gather_list, call, "a gather_list")
        _check_equal(outputs, tensor, call)
        call.output = call.writes_list(outputs)
    elif gather_list is not None:
        raise ValueError("gather: a gather_list is for rank dst alone")
    return call.post(async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Copies `scatter_list[i]` of rank `src` into `tensor` of rank i; all are of one size."""
    call = _Call(_SCATTER, "scatter", group)
    call.root = member_of(call.group, src, "scatter")
    call.output = call.writes(tensor)
    call.count, call.shape = tensor.numel(), list(tensor.shape)
    if call.root == call.group.rank():
        inputs = _check_list(scatter_list, call, "a scatter_list")
        _check_equal(inputs, tensor, call)
        call.input = _joined(inputs)
    elif scatter_list is not None:
        raise ValueError("scatter: a scatter_list is for rank src alone")
    return call.post(async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Copies `input_tensor_list[j]` of rank i into `output_tensor_list[i]` of rank j. Sizes may differ."""
    call = _Call(_ALL_TO_ALL, "all_to_all", group)
    outputs = _check_list(output_tensor_list, call, "an output list")
    inputs = _check_list(input_tensor_list, call, "an input list")
    call.input, call.output = _joined(inputs), call.writes_list(outputs)
    call.sends = [tensor.numel() for tensor in inputs]
    call.receives = [tensor.numel() for tensor in outputs]
    return call.post(async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Cuts `input` along dim 0 into a part for each rank, and joins the parts of all ranks in `output`.

    The sizes say how many rows go to and come from each rank; equal parts unless they are given.
    """
    call = _Call(_ALL_TO_ALL, "all_to_all_single", group)
    call.sends = _row_counts(input, input_split_sizes, call, "input")
    call.receives = _row_counts(output, output_split_sizes, call, "output")
    call.input, call.output = call.reads(input), call.writes(output)
    return call.post(async_op)


def barrier(group: ProcessGroup | None = None, async_op: bool = False, device_ids: object = None) -> Work | None:
    """Returns when all ranks have called it."""
    return _Call(_BARRIER, "barrier", group).post(async_op)


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    return thalweg.cat([tensor.detach().reshape(-1) for tensor in tensors])


def _check_equal(tensors: Sequence[Tensor], like: Tensor, call: _Call) -> None:
    for tensor in tensors:
        if tensor.numel() != like.numel() or tensor.dtype != like.dtype:
            raise ValueError(
                f"{call.name}: tensors of {list(like.shape)} {like.dtype} are wanted, "
                f"got {list(tensor.shape)} {tensor.dtype}"
            )


def _row_counts(tensor: Tensor, sizes: Sequence[int] | None, call: _Call, what: str) -> list[int]:
    members, rows = call.group.size(), tensor.shape[0]
    row = tensor.numel() // rows if rows else 0
    if sizes:
        if len(sizes) != members or sum(sizes) != rows:
            raise ValueError(f"{call.name}: {members} {what} sizes of {rows} rows are wanted, got {list(sizes)}")
        return [size * row for size in sizes]
    if rows % members:
        raise ValueError(f"{call.name}: the {rows} rows of the {what} do not divide among {members} ranks")
    return [rows // members * row] * members
