"""Indexing ops written with index, index_put, gather and scatter_elements."""

import math
from typing import Any

from thalweg._core._tensor import Tensor, op
from thalweg._registry import export, ops
from thalweg.composites.support import as_number, bool_dtype, broadcast_shape, int64, ints, require_none, wrap_dim

_REDUCTIONS = {"add": "sum", "multiply": "prod", "sum": "sum", "prod": "prod"}


def _put(input: Tensor, indices: list, values: Any, accumulate: bool, inplace: bool) -> Tensor:
    return op("index_put", inplace)(input, indices, values, accumulate)


def _at(dim: int, index: Tensor) -> list:
    """`index` as the index of one dim."""
    return [None] * dim + [index]


@export(function=True, method=True)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: [count, rank], or with as_tuple one tensor for each dim."""
    if not as_tuple:
        return ops.nonzero(input)
    positions = ops.nonzero(input.reshape(1) if input.ndim == 0 else input)
    return tuple(positions.select(1, d) for d in range(positions.shape[1]))


@export(function=True, method=True)
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not zero, [count, rank]."""
    return ops.nonzero(input)


@export(function=True, method=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, as one dim. Input and mask broadcast."""
    _check_bool("masked_select", mask)
    shape = broadcast_shape("masked_select", input.shape, mask.shape)
    return ops.index(input.expand(shape).reshape(-1), [mask.expand(shape).reshape(-1)])


def _check_bool(name: str, mask: Tensor) -> None:
    if not isinstance(mask, Tensor) or mask.dtype.name not in ("bool", "uint8"):
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise RuntimeError(f"{name}: a bool mask is wanted, got {got}")


def _masked_scatter(input: Tensor, mask: Tensor, source: Tensor, inplace: bool) -> Tensor:
    if not isinstance(mask, Tensor) or mask.dtype.name != "bool":
        raise RuntimeError(f"masked_scatter: a bool mask is wanted, got {getattr(mask, 'dtype', type(mask))}")
    if source.dtype != input.dtype:
        raise RuntimeError(f"masked_scatter: source of dtype {input.dtype} is wanted, got {source.dtype}")
    positions = ops.nonzero(mask.expand(input.shape))
    count = positions.shape[0]
    if source.numel() < count:
        raise RuntimeError(f"masked_scatter: {count} elements are wanted of source, it has {source.numel()}")
    values = source.reshape(-1)[:count]
    if input.ndim == 0:
        index = input.new_zeros([count], dtype=int64)
        return _result(input, _put(input.reshape(1), [index], values, False, inplace), inplace)
    return _put(input, [positions.select(1, d) for d in range(input.ndim)], values, False, inplace)


def _result(input: Tensor, written: Tensor, inplace: bool) -> Tensor:
    """What an op on a reshaped input returns."""
    return input if inplace else written.reshape(input.shape)


@export(function=True, method=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input with the places where mask is true filled by the elements of source, in order."""
    shape = broadcast_shape("masked_scatter", input.shape, mask.shape)
    return _masked_scatter(input.expand(shape), mask, source, False)


@export(method=True)
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """masked_scatter in place."""
    return _masked_scatter(input, mask, source, True)


def _scatter(input: Tensor, dim: int, index: Tensor, src: Any, value: Any, reduce: str | None, inplace: bool) -> Tensor:
    if (src is None) == (value is None):
        raise TypeError("scatter: exactly one of src and value is wanted")
    if reduce is not None and reduce not in ("add", "multiply"):
        raise RuntimeError(f"scatter: reduce must be add or multiply, got {reduce}")
    return op("scatter_elements", inplace)(
        input, dim, index, as_number(src if value is None else value), _REDUCTIONS[reduce] if reduce else "set"
    )


@export(function=True, method=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """input with src (or one value) written at the places that index names along dim.

    For dim 0: result[index[i][j]][j] = src[i][j]. With reduce "add" or "multiply" src is added to, or multiplied with,
    what is there.

    Errors: IndexError for an index outside the dim.

    >>> import thalweg as tw
    >>> tw.scatter(tw.zeros(4), 0, tw.tensor([3, 1]), tw.tensor([1.0, 2.0]))
    tensor([0., 2., 0., 1.])
    """
    return _scatter(input, dim, index, src, value, reduce, False)


@export(method=True)
def scatter_(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """scatter in place."""
    return _scatter(input, dim, index, src, value, reduce, True)


def _scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, inplace: bool
) -> Tensor:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"scatter_reduce: reduce must be sum, prod, mean, amax or amin, got {reduce}")
    return op("scatter_elements", inplace)(input, dim, index, src, reduce, include_self)


@export(function=True, method=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with src added at the places that index names along dim; repeated places get every share."""
    return _scatter_reduce(input, dim, index, src, "sum", True, False)


@export(method=True)
def scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """scatter_add in place."""
    return _scatter_reduce(input, dim, index, src, "sum", True, True)


@export(function=True, method=True)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """src reduced ("sum", "prod", "mean", "amax", "amin") into the places of input that index names along dim.

    Without include_self what lay there takes no part, where anything comes.
    """
    return _scatter_reduce(input, dim, index, src, reduce, include_self, False)


@export(method=True)
def scatter_reduce_(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """scatter_reduce in place."""
    return _scatter_reduce(input, dim, index, src, reduce, include_self, True)


def _checked_dim_index(name: str, input: Tensor, dim: int, index: Tensor) -> int:
    if not isinstance(index, Tensor) or index.dtype.name not in ("int64", "int32"):
        got = index.dtype if isinstance(index, Tensor) else type(index).__name__
        raise RuntimeError(f"{name}: an index of dtype int64 or int32 is wanted, got {got}")
    if index.ndim > 1:
        raise IndexError(f"{name}: an index of at most 1 dim is wanted, got shape {list(index.shape)}")
    if name != "index_fill":
        require_none(index < 0, IndexError, f"{name}: indices must not be negative")
    return wrap_dim(name, dim, input.ndim)


@export(function=True, method=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The positions of dim that a 1-dim index names, in its order.

    >>> import thalweg as tw
    >>> tw.index_select(tw.tensor([[1, 2, 3], [4, 5, 6]]), 1, tw.tensor([2, 0]))
    tensor([[3, 1],
            [6, 4]])
    """
    dim = _checked_dim_index("index_select", input, dim, index)
    if input.ndim == 0:
        if index.numel() != 1:
            raise IndexError(f"index_select: one index of a 0-dim tensor is wanted, got {index.numel()}")
        require_none(index != 0, IndexError, "index_select: indices of a 0-dim tensor must be 0")
        return input.clone()
    return ops.index(input, _at(dim, index.reshape(-1)))


def _check_source(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Refuses a source that does not have one slice of input for each index."""
    if source.dtype != input.dtype:
        raise RuntimeError(f"{name}: source of dtype {input.dtype} is wanted, got {source.dtype}")
    wanted = list(input.shape)
    if wanted:
        wanted[dim] = index.numel()
    single = index.numel() == 1 and source.numel() == 1 and source.ndim <= 1 and input.ndim <= 1
    if list(source.shape) != wanted and not single:
        raise RuntimeError(
            f"{name}: for {index.numel()} indices of dim {dim} and input of shape {list(input.shape)} a source of "
            f"shape {wanted} is wanted, got {list(source.shape)}"
        )


def _index_write(
    name: str, input: Tensor, dim: int, index: Tensor, source: Tensor, accumulate: bool, inplace: bool
) -> Tensor:
    dim = _checked_dim_index(name, input, dim, index)
    _check_source(name, input, dim, index, source)
    if input.ndim == 0:
        written = _put(input.reshape(1), [index.reshape(-1)], source.reshape(-1), accumulate, inplace)
        return _result(input, written, inplace)
    order = source.movedim(dim, 0) if source.ndim > 1 else source.reshape(-1)
    target = input.movedim(dim, 0)
    result = _put(target, [index.reshape(-1)], order, accumulate, inplace)
    return input if inplace else result.movedim(0, dim)


@export(function=True, method=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """input with alpha * source added at the positions of dim that index names; repeated ones get every share."""
    return _index_write("index_add", input, dim, index, _scaled(source, alpha), True, False)


@export(method=True)
def index_add_(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """index_add in place."""
    return _index_write("index_add", input, dim, index, _scaled(source, alpha), True, True)


def _scaled(source: Tensor, alpha: Any) -> Tensor:
    if isinstance(alpha, (int, float)) and alpha == 1:
        return source
    if isinstance(alpha, float) and not (source.dtype.is_floating_point or source.dtype.is_complex):
        raise RuntimeError(f"index_add: a whole alpha is wanted for dtype {source.dtype}, got {alpha}")
    return ops.mul(source, alpha).to(source.dtype)


@export(function=True, method=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """input with the slices of source written at the positions of dim that index names."""
    return _index_write("index_copy", input, dim, index, source, False, False)


@export(method=True)
def index_copy_(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """index_copy in place."""
    return _index_write("index_copy", input, dim, index, source, False, True)


def _index_fill(input: Tensor, dim: int, index: Tensor, value: Any, inplace: bool) -> Tensor:
    dim = _checked_dim_index("index_fill", input, dim, index)
    if isinstance(value, Tensor):
        if value.ndim != 0:
            raise RuntimeError(f"index_fill: a number or 0-dim tensor is wanted, got shape {list(value.shape)}")
        value = value.to(input.dtype)
    elif isinstance(value, complex) and not input.dtype.is_complex:
        raise RuntimeError(f"index_fill: a complex value does not fit dtype {input.dtype}")
    if input.ndim == 0:
        return _result(input, _index_fill(input.reshape(1), 0, index, value, inplace), inplace)
    places = index.reshape(-1)
    if isinstance(value, Tensor):  # each place gives the value's gradient once, however often it is named
        nowhere = input.new_zeros([input.shape[dim]], dtype=bool_dtype)
        places = ops.index_put(nowhere, [places], input.new_ones([], dtype=bool_dtype))
    return _put(input, _at(dim, places), value, False, inplace)


@export(function=True, method=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """input with one value at the positions of dim that index names."""
    return _index_fill(input, dim, index, value, False)


@export(method=True)
def index_fill_(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """index_fill in place."""
    return _index_fill(input, dim, index, value, True)


def _index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, inplace: bool
) -> Tensor:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce: reduce must be prod, mean, amax or amin, got {reduce}")
    dim = _checked_dim_index("index_reduce", input, dim, index)
    _check_source("index_reduce", input, dim, index, source)
    shape = [1] * source.ndim
    if shape:
        shape[dim] = index.numel()
    places = index.reshape(shape).expand(source.shape)
    return op("scatter_elements", inplace)(input, dim, places, source, reduce, include_self)


@export(function=True, method=True)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """The slices of source reduced ("prod", "mean", "amax", "amin") into the positions of dim that index names."""
    return _index_reduce(input, dim, index, source, reduce, include_self, False)


@export(method=True)
def index_reduce_(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """index_reduce in place."""
    return _index_reduce(input, dim, index, source, reduce, include_self, True)


def _check_long(name: str, index: Tensor) -> None:
    if index.dtype.name != "int64":
        raise RuntimeError(f"{name}: an index of dtype int64 is wanted, got {index.dtype}")


@export(function=True, method=True)
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions of the flattened input, in the shape of index."""
    _check_long("take", index)
    return ops.index(input.reshape(-1), [index])


@export(function=True, method=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather with input and indices broadcast against each other; without dim both are flattened first."""
    _check_long("take_along_dim", indices)
    if dim is None:
        return take_along_dim(input.reshape(-1), indices.reshape(-1), 0)
    if input.ndim != indices.ndim:
        raise RuntimeError(f"take_along_dim: equal numbers of dims are wanted, got {input.ndim} and {indices.ndim}")
    dim = wrap_dim("take_along_dim", dim, input.ndim)
    indices = ops.where(ops.lt(indices, 0), indices + (input.shape[dim] if input.ndim else 1), indices)
    if input.ndim == 0:
        return ops.gather(input, 0, indices)
    fit, other = list(input.shape), list(indices.shape)
    shared = list(
        broadcast_shape("take_along_dim", fit[:dim] + [1] + fit[dim + 1 :], other[:dim] + [1] + other[dim + 1 :])
    )
    return ops.gather(
        input.expand(shared[:dim] + [fit[dim]] + shared[dim + 1 :]),
        dim,
        indices.expand(shared[:dim] + [other[dim]] + shared[dim + 1 :]),
    )


def _put_flat(input: Tensor, index: Tensor, source: Tensor, accumulate: bool, inplace: bool) -> Tensor:
    _check_long("put", index)
    if source.dtype != input.dtype:
        raise RuntimeError(f"put: source of dtype {input.dtype} is wanted, got {source.dtype}")
    if source.numel() != index.numel():
        raise RuntimeError(f"put: as many sources as indices are wanted, got {source.numel()} and {index.numel()}")
    flat = input.reshape(-1)
    result = _put(flat, [index.reshape(-1)], source.reshape(-1), accumulate, False).reshape(input.shape)
    return op("copy", True)(input, result) if inplace else result


@export(function=True, method=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """input with source written at (or added to) positions of the flattened input."""
    return _put_flat(input, index, source, accumulate, False)


@export(method=True)
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """put in place."""
    return _put_flat(input, index, source, accumulate, True)


@export(nn=True)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Classes [*] as rows [*, num_classes] with a single 1; by default as many classes as the largest demands.

    >>> import thalweg as tw
    >>> tw.nn.functional.one_hot(tw.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    _check_long("one_hot", tensor)
    if num_classes == 0 or num_classes < -1:
        raise RuntimeError(f"one_hot: a positive number of classes is wanted, got {num_classes}")
    if tensor.numel() == 0:
        if num_classes < 0:
            raise RuntimeError("one_hot: the number of classes cannot be told from an empty tensor")
        return tensor.new_zeros([*tensor.shape, num_classes])
    if num_classes < 0:
        num_classes = int(tensor.max()) + 1
    zeros = tensor.new_zeros([*tensor.shape, num_classes])
    try:
        return ops.scatter_elements(zeros, -1, tensor.unsqueeze(-1), 1)
    except IndexError:
        raise RuntimeError(f"one_hot: classes in [0, {num_classes}) are wanted") from None


@export(function=True)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """For positions in a flattened tensor of this shape, the index along each dim.

    Raises:
        ValueError: a position that the shape does not have.

    >>> import thalweg as tw
    >>> [index.tolist() for index in tw.unravel_index(tw.tensor([1, 5]), (2, 3))]
    [[0, 1], [1, 2]]
    """
    if not isinstance(indices, Tensor) or indices.dtype.is_floating_point or indices.dtype.is_complex:
        raise ValueError(
            f"unravel_index: a tensor of integers is wanted, got {getattr(indices, 'dtype', type(indices).__name__)}"
        )
    sizes = ints("unravel_index", (shape,))
    count = math.prod(sizes)
    indices = indices.to(int64)
    if indices.numel() and not (bool((indices >= 0).all()) and bool((indices < count).all())):
        raise ValueError(f"unravel_index: positions from 0 to {count - 1} are wanted for the shape {tuple(sizes)}")
    found = []
    for size in reversed(sizes):
        found.append(ops.remainder(indices, size))
        indices = ops.floor_divide(indices, size)
    return tuple(reversed(found))
