"""PyTorch's rules for strides, written out."""

from collections.abc import Sequence


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in row-major order; an empty dim counts as one element."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def channels_last(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of [N, C, *D] in the order N, *D, C."""
    strides, step = [0] * len(shape), 1
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def suggests_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """What suggest_memory_format() makes of strides."""
    if len(shape) not in (4, 5) or strides[1] == 0:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * max(shape[dim], 1)
    return True


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the strides, sorted, step over exactly what the smaller ones span."""
    step = 1
    for stride, size in sorted((t, s) for t, s in zip(strides, shape, strict=True) if s != 1):
        if stride != step:
            return False
        step *= size
    return True


def is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether strides are row-major but for dims of one element."""
    return all(s == 1 or a == b for s, a, b in zip(shape, strides, row_major(shape), strict=True))


def pointwise(shape: Sequence[int], operands: Sequence[tuple[Sequence[int], Sequence[int]]]) -> tuple[int, ...]:
    """Strides of a pointwise result; operands as (shape, strides), from the left."""
    rank, shape = len(shape), tuple(shape)
    if all(tuple(s) == shape for s, _ in operands):
        if all(is_row_major(s, t) for s, t in operands):
            return row_major(shape)
        last = channels_last(shape) if rank == 4 else ()
        if rank == 4 and all(n == 1 or a == b for _, t in operands for n, a, b in zip(shape, t, last, strict=True)):
            return last
        if is_dense(shape, operands[0][1]) and len({tuple(t) for _, t in operands}) == 1:
            return tuple(operands[0][1])
    steps = []
    for size, strides in operands:
        missing = rank - len(size)
        own = [0 if n != m else t for n, t, m in zip(size, strides, shape[missing:], strict=True)]
        steps.append([0] * missing + own)

    def compare(a: int, b: int) -> int:
        for step in steps:
            if step[a] == 0 or step[b] == 0:
                continue
            if step[a] != step[b]:
                return -1 if step[a] < step[b] else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    order = list(reversed(range(rank)))
    for i in range(1, rank):
        at = i
        for before in range(i - 1, -1, -1):
            verdict = compare(order[before], order[at])
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    result, step = [0] * rank, 1
    for dim in order:
        result[dim] = step
        step *= max(shape[dim], 1)
    return tuple(result)
