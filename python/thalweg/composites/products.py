"""Products of tensors beyond matrices, written with matmul: tensordot, kron, cross, multi_dot, bilinear and others."""

from collections.abc import Sequence
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import FUNCTIONS, export, ops
from thalweg.composites.factorisations import inv
from thalweg.frontend.global_creation import beside

__all__ = ["bilinear", "chain_matmul", "cross", "kron", "matrix_power", "multi_dot", "tensordot", "trace"]


@export(function=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: None = None, *, axes: Any = None) -> Tensor:
    """Sums of products over pairs of dims: the last `dims` of a with the first of b, or the dims of two lists.

    `axes` is NumPy's name for `dims`, which opt_einsum uses.

    >>> import thalweg as tw
    >>> tw.tensordot(tw.ones(2, 3), tw.ones(3, 4), dims=1).shape
    thalweg.Size([2, 4])
    """
    dims = dims if axes is None else axes
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot: dims from 0 to the ranks {a.dim()} and {b.dim()} are wanted, got {dims}")
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = dims
        left, right = ([d] if isinstance(d, int) else d for d in (left, right))
    left, right = [_wrap(d, a, "tensordot") for d in left], [_wrap(d, b, "tensordot") for d in right]
    if len(left) != len(right):
        raise RuntimeError(f"tensordot: as many dims of both tensors are wanted, got {left} and {right}")
    for i, j in zip(left, right):
        if a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]):
            raise RuntimeError(f"tensordot: the contracted sizes differ: {a.shape[i]} and {b.shape[j]} at {i} and {j}")
        if a.shape[i] != b.shape[j]:  # a size of 1 stands for any
            a = a.sum(i, keepdim=True, dtype=a.dtype) if b.shape[j] == 1 else a
            b = b.sum(j, keepdim=True, dtype=b.dtype) if a.shape[i] == 1 else b
    free_a = [d for d in range(a.dim()) if d not in left]
    free_b = [d for d in range(b.dim()) if d not in right]
    inner = 1
    for d in left:
        inner *= a.shape[d]
    sizes = [a.shape[d] for d in free_a], [b.shape[d] for d in free_b]
    rows = a.permute(free_a + left).reshape([_product(sizes[0]), inner])
    columns = b.permute(right + free_b).reshape([inner, _product(sizes[1])])
    return (rows @ columns).reshape(sizes[0] + sizes[1])


def _wrap(dim: int, tensor: Tensor, op: str) -> int:
    rank = tensor.dim()
    if not -rank <= dim < max(rank, 1):
        raise IndexError(f"{op}: a dim from {-rank} to {rank - 1} is wanted, got {dim}")
    return dim % rank if rank else 0


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


@export(function=True, method=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of input times the whole of other, as blocks."""
    rank = max(input.dim(), other.dim())
    a = [1] * (rank - input.dim()) + list(input.shape)
    b = [1] * (rank - other.dim()) + list(other.shape)
    spread_a = [size for pair in zip(a, [1] * rank) for size in pair]
    spread_b = [size for pair in zip([1] * rank, b) for size in pair]
    product = input.reshape(spread_a) * other.reshape(spread_b)
    return product.reshape([x * y for x, y in zip(a, b)])


def _cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    def parts(x: Tensor) -> list[Tensor]:
        return [x.select(dim, i).unsqueeze(dim) for i in range(3)]

    (a0, a1, a2), (b0, b1, b2) = parts(input), parts(other)
    rows = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return ops.cat(rows, dim)


@export(function=True, method=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product of vectors of 3 along `dim` (the first dim of size 3 where none is given)."""
    if input.dim() != other.dim():
        raise RuntimeError(f"cross: tensors of one rank are wanted, got shapes {input.shape} and {other.shape}")
    if dim is None:
        fitting = [d for d in range(input.dim()) if input.shape[d] == other.shape[d] == 3]
        if not fitting:
            raise RuntimeError(f"cross: a dim of size 3 is wanted, got shapes {input.shape} and {other.shape}")
        dim = fitting[0]
    dim = _wrap(dim, input, "cross")
    if input.dim() == 0 or input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"cross: size 3 at dim {dim} is wanted, got shapes {input.shape} and {other.shape}")
    return _cross(input, other, dim)


@export(linalg=True, name="cross")
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of 3 along `dim`."""
    return cross(input, other, dim)


@export(function=True, method=True)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    if input.dim() != 2:
        raise RuntimeError(f"trace: a matrix is wanted, got shape {tuple(input.shape)}")
    return input.diagonal().sum()


@export(linalg=True)
def multi_dot(tensors: Sequence[Tensor], *, out: None = None) -> Tensor:
    """The product of several matrices, in the order that costs the fewest multiplications.

    The first and the last may be vectors. (Cormen et al., Introduction to Algorithms, 15.2.)
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot: at least 2 tensors are wanted, got {len(tensors)}")
    vector_first, vector_last = tensors[0].dim() == 1, tensors[-1].dim() == 1
    if vector_first:
        tensors[0] = tensors[0].unsqueeze(0)
    if vector_last:
        tensors[-1] = tensors[-1].unsqueeze(1)
    for i, t in enumerate(tensors):
        if t.dim() != 2:
            raise RuntimeError(f"multi_dot: matrices are wanted, got shape {tuple(t.shape)} at {i}")
        if t.dtype != tensors[0].dtype:
            raise RuntimeError(f"multi_dot: one dtype is wanted, got {tensors[0].dtype} and {t.dtype}")
        if i and tensors[i - 1].shape[1] != t.shape[0]:
            raise RuntimeError(f"multi_dot: the inner sizes differ: {tuple(tensors[i - 1].shape)} and {tuple(t.shape)}")
    result = _ordered_product(tensors)
    if vector_first:
        result = result.squeeze(0)
    return result.squeeze(-1) if vector_last else result


def _ordered_product(tensors: list[Tensor]) -> Tensor:
    sizes = [tensors[0].shape[0]] + [t.shape[1] for t in tensors]
    best = {(i, i): (0, i) for i in range(len(tensors))}
    for length in range(1, len(tensors)):
        for i in range(len(tensors) - length):
            j = i + length
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return tensors[i]
        k = best[i, j][1]
        return product(i, k) @ product(k + 1, j)

    return product(0, len(tensors) - 1)


@export(function=True)
def chain_matmul(*matrices: Any, out: None = None) -> Tensor:
    """multi_dot of matrices given one by one; a single one is returned as it is."""
    tensors = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else list(matrices)
    return tensors[0] if len(tensors) == 1 else multi_dot(tensors)


def _matrix_power(input: Tensor, n: int) -> Tensor:
    if input.dim() < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(f"matrix_power: square matrices are wanted, got shape {tuple(input.shape)}")
    if n < 0:
        input, n = inv(input), -n
    if n == 0:
        with beside(input):
            identity, always = FUNCTIONS["eye"](input.shape[-1], dtype=input.dtype), ops.full([], True)
        return ops.where(always, identity, input)  # still a function of input, with a gradient of zeros
    square = input
    while not n & 1:
        square = square @ square
        n >>= 1
    result = square
    while n := n >> 1:
        square = square @ square
        if n & 1:
            result = result @ square
    return result


@export(function=True, method=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix times itself n times, by repeated squaring; its inverse -n times for a negative n."""
    return _matrix_power(input, n)


@export(linalg=True, name="matrix_power")
def linalg_matrix_power(A: Tensor, n: int) -> Tensor:
    """A square matrix times itself n times, by repeated squaring; its inverse -n times for a negative n."""
    return _matrix_power(A, n)


@export(linalg=True, name="diagonal")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices: tw.diagonal over the last two dims."""
    return ops.diagonal(A, offset, dim1, dim2)


@export(linalg=True, name="matmul")
def linalg_matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product: tw.matmul."""
    return ops.matmul(input, other)


@export(linalg=True)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot products of vectors along `dim`; those of x are conjugated."""
    if x.dtype.is_complex:
        x = x.conj()
    return (x * y).sum(dim)


@export(nn=True)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1ᵀ W[o] input2 + bias[o] for each output o: [*, I], [*, J], weight [O, I, J] to [*, O]."""
    if weight.dim() != 3 or input1.shape[-1:] != weight.shape[1:2] or input2.shape[-1:] != weight.shape[2:]:
        raise RuntimeError(
            f"bilinear: inputs of last sizes {tuple(weight.shape[1:])} are wanted, "
            f"got shapes {tuple(input1.shape)} and {tuple(input2.shape)}"
        )
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear: inputs of one leading shape are wanted, got {tuple(input1.shape)} and {tuple(input2.shape)}"
        )
    outputs, inner, _ = weight.shape
    left = ops.matmul(input1, weight.permute(1, 0, 2).reshape([inner, -1 if inner else outputs * weight.shape[2]]))
    left = left.reshape([*input1.shape[:-1], outputs, weight.shape[2]])
    result = ops.matmul(left, input2.unsqueeze(-1)).squeeze(-1)
    return result if bias is None else result + bias
