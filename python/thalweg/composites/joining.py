"""Joining tensors and cutting them into parts."""

import itertools
from collections.abc import Sequence
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.support import int64, wrap_dim
from thalweg.frontend.from_data import as_tensor


def _given(name: str, dim: Any, axis: Any) -> Any:
    if axis is None:
        return dim
    if dim not in (None, 0):
        raise TypeError(f"{name}: dim and axis are the same argument")
    return axis


@export(function=True)
def concat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, out: Tensor | None = None) -> Tensor:
    """cat under another name."""
    return ops.cat(tensors, _given("concat", dim, axis), out=out)


@export(function=True)
def concatenate(
    tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, out: Tensor | None = None
) -> Tensor:
    """cat under another name."""
    return ops.cat(tensors, _given("concatenate", dim, axis), out=out)


def _at_least(x: Tensor, rank: int) -> Tensor:
    """New dims in front for 1 and 2; for 3 a matrix gets its new dim at the end."""
    if rank == 3 and x.ndim == 2:
        return x.unsqueeze(-1)
    if rank == 3 and x.ndim == 1:
        return x.unsqueeze(0).unsqueeze(-1)
    while x.ndim < rank:
        x = x.unsqueeze(0)
    return x


def _atleast(name: str, tensors: tuple, rank: int) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return _at_least(tensors[0], rank)
    items = tensors[0] if len(tensors) == 1 else tensors
    if not all(isinstance(x, Tensor) for x in items):
        raise TypeError(f"{name}: tensors are wanted")
    return tuple(_at_least(x, rank) for x in items)


@export(function=True)
def atleast_1d(*tensors: Any) -> Any:
    """Views of at least 1 dim."""
    return _atleast("atleast_1d", tensors, 1)


@export(function=True)
def atleast_2d(*tensors: Any) -> Any:
    """Views of at least 2 dims."""
    return _atleast("atleast_2d", tensors, 2)


@export(function=True)
def atleast_3d(*tensors: Any) -> Any:
    """Views of at least 3 dims."""
    return _atleast("atleast_3d", tensors, 3)


def _checked(name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not len(tensors):
        raise ValueError(f"{name}: a sequence of at least one tensor is wanted")
    return list(tensors)


@export(function=True)
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side: along dim 1, vectors along dim 0."""
    parts = [_at_least(x, 1) for x in _checked("hstack", tensors)]
    return ops.cat(parts, 0 if parts[0].ndim == 1 else 1, out=out)


@export(function=True)
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors below each other: along dim 0, vectors as rows."""
    return ops.cat([_at_least(x, 2) for x in _checked("vstack", tensors)], 0, out=out)


@export(function=True)
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """vstack under another name."""
    return vstack(tensors, out=out)


@export(function=True)
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors behind each other, along dim 2."""
    return ops.cat([_at_least(x, 3) for x in _checked("dstack", tensors)], 2, out=out)


@export(function=True)
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Vectors as columns, matrices side by side."""
    parts = [x.reshape(x.numel(), 1) if x.ndim <= 1 else x for x in _checked("column_stack", tensors)]
    return ops.cat(parts, 1, out=out)


@export(function=True, method=True)
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The positions of a dim, one view each."""
    if input.ndim == 0:
        raise IndexError("unbind: a 0-dim tensor has no dim to take apart")
    dim = wrap_dim("unbind", dim, input.ndim)
    return tuple(ops.select(input, dim, i) for i in range(input.shape[dim]))


@export(function=True, method=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of `length` positions of a dim from `start` on."""
    if input.ndim == 0:
        raise RuntimeError("narrow: a 0-dim tensor cannot be narrowed")
    if isinstance(start, Tensor) and (start.ndim or start.dtype.is_floating_point or start.dtype.name == "bool"):
        raise RuntimeError("narrow: start must be an int or a 0-dim tensor of integers")
    dim = wrap_dim("narrow", dim, input.ndim)
    size, start = input.shape[dim], int(start)
    if not -size <= start <= size:
        raise IndexError(f"narrow: start must be in [{-size}, {size}], got {start}")
    start = start + size if start < 0 else start
    if length < 0 or start + length > size:
        raise RuntimeError(f"narrow: positions {start} to {start + length} are not in a dim of size {size}")
    return ops.slice(input, dim, start, start + length)


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """narrow, as a tensor of its own."""
    return narrow(input, dim, start, length).clone()


export(function=True, method=True)(narrow_copy)


@export(function=True, method=True)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the given sizes along a dim, which they fill."""
    if input.ndim == 0:
        raise RuntimeError("split: a 0-dim tensor cannot be split")
    dim = wrap_dim("split", dim, input.ndim)
    if any(size < 0 for size in split_sizes) or sum(split_sizes) != input.shape[dim]:
        raise RuntimeError(f"split: sizes that add up to {input.shape[dim]} are wanted, got {list(split_sizes)}")
    parts, start = [], 0
    for size in split_sizes:
        parts.append(ops.slice(input, dim, start, start + size))
        start += size
    return tuple(parts)


@export(function=True, method=True)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0, *, split_size: Any = None) -> tuple[Tensor, ...]:
    """Views along a dim: of one size, the last one smaller where need be, or of the sizes in a list."""
    sizes = split_size_or_sections if split_size is None else split_size
    if not hasattr(sizes, "__index__"):
        return split_with_sizes(tensor, list(sizes), dim)
    if tensor.ndim == 0:
        raise RuntimeError("split: a 0-dim tensor cannot be split")
    dim, size = wrap_dim("split", dim, tensor.ndim), sizes.__index__()
    length = tensor.shape[dim]
    if size < 0 or (size == 0 and length):
        raise RuntimeError(f"split: a positive size is wanted, got {size}")
    count = max(1, -(-length // size)) if size else 1
    return tuple(ops.slice(tensor, dim, i * size, min((i + 1) * size, length)) for i in range(count))


@export(function=True, method=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of one size along a dim; the last one may be smaller."""
    if input.ndim == 0:
        raise RuntimeError("chunk: a 0-dim tensor cannot be split")
    if chunks <= 0:
        raise RuntimeError(f"chunk: a positive number of chunks is wanted, got {chunks}")
    length = input.shape[wrap_dim("chunk", dim, input.ndim)]
    if length == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return split(input, -(-length // chunks), dim)


@export(function=True, method=True)
def tensor_split(
    input: Tensor, indices_or_sections: Any, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Views along a dim: so many of nearly one size, the first ones larger, or cut before the given positions."""
    cuts = indices_or_sections if indices is None and sections is None else indices if sections is None else sections
    if input.ndim == 0:
        raise RuntimeError("tensor_split: a 0-dim tensor cannot be split")
    dim = wrap_dim("tensor_split", dim, input.ndim)
    length = input.shape[dim]
    if isinstance(cuts, Tensor):
        if cuts.dtype.name != "int64" or cuts.ndim > 1:
            raise RuntimeError("tensor_split: a tensor of cuts must have dtype int64 and at most 1 dim")
        cuts = cuts.tolist()
    if hasattr(cuts, "__index__"):
        if cuts <= 0:
            raise RuntimeError(f"tensor_split: a positive number of sections is wanted, got {cuts}")
        size, larger = divmod(length, cuts)
        return split_with_sizes(input, [size + 1] * larger + [size] * (cuts - larger), dim)
    edges = [0, *cuts, length]
    return tuple(ops.slice(input, dim, a, b) for a, b in zip(edges[:-1], edges[1:], strict=True))


def _fixed_split(name: str, input: Tensor, cuts: Any, dim: int, rank: int) -> tuple[Tensor, ...]:
    if input.ndim < rank:
        raise RuntimeError(f"{name}: at least {rank} dims are wanted, got shape {list(input.shape)}")
    if hasattr(cuts, "__index__") and (cuts == 0 or input.shape[dim] % cuts):
        raise RuntimeError(f"{name}: {cuts} sections do not divide a dim of size {input.shape[dim]}")
    return tensor_split(input, cuts, dim)


@export(function=True, method=True)
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """tensor_split into equal parts along dim 1, of vectors along dim 0."""
    return _fixed_split("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1, 1)


@export(function=True, method=True)
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """tensor_split into equal parts along dim 0."""
    return _fixed_split("vsplit", input, indices_or_sections, 0, 2)


@export(function=True, method=True)
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """tensor_split into equal parts along dim 2."""
    return _fixed_split("dsplit", input, indices_or_sections, 2, 3)


@export(function=True)
def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of one; vectors count as rows."""
    if not tensors:
        return ops.full([1, 0], 0.0)
    blocks = []
    for given in tensors:
        block = as_tensor(given)
        if block.ndim > 2:
            raise RuntimeError(f"block_diag: at most 2 dims are wanted, got shape {list(block.shape)}")
        blocks.append(_at_least(block, 2))
    width, left, rows = sum(b.shape[1] for b in blocks), 0, []
    for block in blocks:
        rows.append(ops.pad_constant(block, [left, width - left - block.shape[1]]))
        left += block.shape[1]
    return ops.cat(rows, 0)


@export(function=True)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Views of each vector expanded over the grid that all span; with "xy" the second vector runs along dim 0."""
    items = list(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else list(tensors)
    if not items:
        raise ValueError("meshgrid: at least one tensor is wanted")
    if any(x.ndim > 1 for x in items):
        raise RuntimeError("meshgrid: tensors of at most 1 dim are wanted")
    if any(x.dtype != items[0].dtype for x in items):
        raise RuntimeError("meshgrid: tensors of one dtype are wanted")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be "ij" or "xy", got {indexing!r}')
    swap = indexing == "xy" and len(items) >= 2
    if swap:
        items[:2] = items[1::-1]
    shape = [x.numel() for x in items]
    grids = [x.reshape([-1 if i == d else 1 for i in range(len(items))]).expand(shape) for d, x in enumerate(items)]
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@export(function=True)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All choices of one element from each vector, a row each."""
    if any(x.ndim != 1 for x in tensors):
        raise RuntimeError("cartesian_prod: vectors are wanted")
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([g.reshape(-1) for g in meshgrid(*tensors)], 1)


@export(function=True)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, a row each, in the order of the vector."""
    if input.ndim != 1:
        raise RuntimeError(f"combinations: a vector is wanted, got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: r must not be negative, got {r}")
    if r == 0:
        return input[:0].clone()
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.shape[0]), r))
    return input[input.new_tensor(rows, dtype=int64) if rows else input.new_zeros([0, r], dtype=int64)]
