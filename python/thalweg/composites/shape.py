"""The same elements under other shapes: views where memory allows."""

from collections.abc import Sequence
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Size, Tensor, attach, op
from thalweg._core._tensor import dtype as DType
from thalweg._registry import export, ops
from thalweg.composites.support import broadcast_shape, int64, ints, wrap_dim, wrap_dims

_VIEW, _VIEW_DTYPE = op("view"), op("view_dtype")


@export(function=True)
def transpose(input: Tensor, dim0: Any, dim1: int | None = None) -> Tensor:
    """A view with two dims swapped; or, as NumPy has it, with the dims in the order of a list given alone.

    >>> import thalweg as tw
    >>> tw.transpose(tw.zeros(2, 3, 4), 0, 1).shape, tw.transpose(tw.zeros(2, 3, 4), (2, 0, 1)).shape
    (thalweg.Size([3, 2, 4]), thalweg.Size([4, 2, 3]))
    """
    if dim1 is not None:
        return ops.transpose(input, dim0, dim1)
    if not isinstance(dim0, (tuple, list)):
        raise TypeError(f"transpose: two dims, or a list of all dims, are wanted, got {dim0!r}")
    return ops.permute(input, dim0)


@export(method=True)
def view(self: Tensor, *shape: Any, dtype: DType | None = None) -> Tensor:
    """The same memory under another shape, or, given a dtype, its bytes read as that."""
    if dtype is not None:
        return _VIEW_DTYPE(self, dtype)
    if len(shape) == 1 and isinstance(shape[0], (DType, type)):
        return _VIEW_DTYPE(self, shape[0])
    return _VIEW(self, *shape)


@export(method=True)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """view in the shape of `other`."""
    return _VIEW(self, other.shape)


@export(method=True)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """expand to the shape of `other`."""
    return self.expand(other.shape)


@export(method=True)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """reshape to the shape of `other`."""
    return self.reshape(other.shape)


@export(function=True, method=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dims start_dim to end_dim as one."""
    rank = input.ndim
    start, end = wrap_dim("flatten", start_dim, rank), wrap_dim("flatten", end_dim, rank)
    if start > end:
        raise RuntimeError(f"flatten: start_dim must not come after end_dim, got {start_dim} and {end_dim}")
    if rank == 0:
        return input.reshape(1)
    if start == end:
        return input
    size = 1
    for length in input.shape[start : end + 1]:
        size *= length
    return input.reshape([*input.shape[:start], size, *input.shape[end + 1 :]])


@export(function=True, method=True)
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dim as several; one of their sizes may be -1."""
    dim = wrap_dim("unflatten", dim, input.ndim)
    sizes = ints("unflatten", (sizes,))
    if not sizes:
        raise RuntimeError("unflatten: at least one size is wanted")
    length, known = (input.shape[dim] if input.ndim else 1), 1
    for size in sizes:
        known *= 1 if size == -1 else size
    if sizes.count(-1) > 1 or (known != length if -1 not in sizes else known == 0 or length % known):
        raise RuntimeError(f"unflatten: sizes {sizes} do not multiply to {length}")
    sizes = [length // known if size == -1 else size for size in sizes]
    return _VIEW(input, [*input.shape[:dim], *sizes, *input.shape[dim + 1 :]])


@export(function=True, method=True)
def ravel(input: Tensor) -> Tensor:
    """All elements as one dim."""
    return input.reshape(-1)


for _name in ("swapaxes", "swapdims"):
    for _form in ("function", "method"):
        export(**{_form: True}, name=_name)(op("transpose"))


@export(function=True, method=True)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dims moved to other positions; the rest keep their order."""
    given = [source] if hasattr(source, "__index__") else list(source)
    wanted = [destination] if hasattr(destination, "__index__") else list(destination)
    if len(given) != len(wanted):
        raise RuntimeError(f"movedim: as many sources as destinations are wanted, got {given} and {wanted}")
    moved, places = wrap_dims("movedim", given, input.ndim), wrap_dims("movedim", wanted, input.ndim)
    if input.ndim == 0:
        return input
    rest = iter(d for d in range(input.ndim) if d not in moved)
    at = dict(zip(places, moved, strict=True))
    return input.permute([at[d] if d in at else next(rest) for d in range(input.ndim)])


@export(function=True, method=True)
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """movedim under another name."""
    return movedim(input, source, destination)


@export(function=True, method=True)
def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t: at most 2 dims are wanted, got shape {list(input.shape)}")
    return input.transpose(0, 1) if input.ndim == 2 else input


@export(function=True, method=True)
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A window on the tensor's memory with the given sizes, strides and offset, in elements."""
    if input.requires_grad:  # the gradient has to know where the input's own elements lie
        return ops.as_strided(
            input, size, stride, storage_offset, input_stride=list(input.stride()), input_offset=input.storage_offset()
        )
    return ops.as_strided(input, size, stride, storage_offset)


def _in_place(name: str, make_view: Any, doc: str) -> None:
    """A method that turns the tensor itself into a view of it."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        _native.adopt_view(self, make_view(self, *args, **kwargs), name)
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    export(method=True)(method)


_in_place("t_", t, "t, changing the tensor itself.")
_in_place("squeeze_", op("squeeze"), "squeeze, changing the tensor itself.")
_in_place("unsqueeze_", op("unsqueeze"), "unsqueeze, changing the tensor itself.")
_in_place("as_strided_", as_strided, "as_strided, changing the tensor itself.")
for _name in ("transpose_", "swapaxes_", "swapdims_"):
    _in_place(_name, op("transpose"), "transpose, changing the tensor itself.")


@export(method=True)
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another shape in row-major order; memory grows where it must, with unset elements at its end."""
    shape = ints("resize_", sizes)
    if self.requires_grad:
        raise RuntimeError("resize_: a tensor that requires grad cannot be resized")
    if any(size < 0 for size in shape):
        raise RuntimeError(f"resize_: sizes must not be negative, got {shape}")
    strides, count = [], 1
    for size in reversed(shape):
        strides.append(count)
        count *= max(size, 1)
    if 0 in shape:
        count = 0
    strides.reverse()
    held = self.untyped_storage().nbytes() // self.element_size() - self.storage_offset()
    if count <= held:
        return self.set_(self, self.storage_offset(), shape, strides)
    grown = _native.empty([count], self.dtype)
    op("copy", True)(ops.slice(grown, 0, 0, held), ops.as_strided(self.detach(), [held], [1]))
    return self.set_(grown, 0, shape, strides)


@export(method=True)
def resize_as_(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """resize_ to the shape of `other`."""
    return resize_(self, *other.shape) if other.ndim else resize_(self, ())


def _property(name: str, getter: Any, doc: str) -> None:
    attach(name, property(getter, doc=doc))


def _reversed(self: Tensor) -> Tensor:
    return self.permute(list(range(self.ndim - 1, -1, -1)))


def _matrix_transposed(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError(f"mT: at least 2 dims are wanted, got shape {list(self.shape)}")
    return self.transpose(-2, -1)


def _conjugated(x: Tensor) -> Tensor:
    return ops.conj(x) if x.dtype.is_complex else x


@export(function=True, method=True)
def adjoint(input: Tensor) -> Tensor:
    """The last two dims swapped, and conjugated."""
    if input.ndim == 1:
        raise RuntimeError("adjoint: a vector has none")
    return _conjugated(input.transpose(-2, -1) if input.ndim else input)


def _hermitian(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise RuntimeError(f"H: a matrix is wanted, got shape {list(self.shape)}")
    return adjoint(self)


_property("T", _reversed, "A view with the dims in reverse order.")
_property("mT", _matrix_transposed, "A view with the last two dims swapped.")
_property("mH", adjoint, "The last two dims swapped, and conjugated.")
_property("H", _hermitian, "A matrix transposed and conjugated.")


@export(function=True, method=True)
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """expand under NumPy's name."""
    return input.expand(size)


@export(function=True)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that all given ones broadcast to; an int stands for a vector."""
    listed = [[s] if hasattr(s, "__index__") else list(s) for s in shapes]
    if any(size < 0 for shape in listed for size in shape):
        raise RuntimeError(f"broadcast_shapes: sizes must not be negative, got {listed}")
    return Size(broadcast_shape("broadcast_shapes", *listed))


@export(function=True)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of all tensors in the shape that they broadcast to."""
    items = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    shape = broadcast_shape("broadcast_tensors", *(x.shape for x in items))
    return tuple(x.expand(shape) for x in items)


@export(method=True)
def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """The tensor so many times along each dim; more numbers than dims add dims in front."""
    return _repeat("repeat", self, ints("repeat", repeats))


def _repeat(name: str, x: Tensor, repeats: list[int]) -> Tensor:
    if len(repeats) < x.ndim:
        raise RuntimeError(f"{name}: at least {x.ndim} numbers are wanted, got {repeats}")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"{name}: numbers must not be negative, got {repeats}")
    sizes = [1] * (len(repeats) - x.ndim) + list(x.shape)
    apart, full = [], []
    for r, size in zip(repeats, sizes, strict=True):
        apart += [1, size]
        full += [r, size]
    return x.reshape(apart).expand(full).clone().reshape([r * s for r, s in zip(repeats, sizes, strict=True)])


@export(function=True, method=True)
def tile(input: Tensor, *dims: Any) -> Tensor:
    """repeat, with numbers missing in front taken as 1."""
    repeats = ints("tile", dims)
    return _repeat("tile", input, [1] * (input.ndim - len(repeats)) + repeats)


@export(function=True, method=True)
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each position of a dim (or each element) so many times in a row, one number for all or one for each.

    Given only a tensor of numbers n: position i n[i] times.
    """
    if repeats is None:
        return _positions(input, output_size)
    if isinstance(repeats, Tensor):
        if repeats.dtype.name not in ("int64", "int32") or repeats.ndim > 1:
            raise RuntimeError("repeat_interleave: repeats must be integers of at most 1 dim")
    x = input.reshape(-1) if dim is None or input.ndim == 0 else input
    dim = wrap_dim("repeat_interleave", 0 if dim is None else dim, x.ndim)
    size = x.shape[dim]
    if not isinstance(repeats, Tensor) and not hasattr(repeats, "__index__"):
        repeats = x.new_tensor(list(repeats), dtype=int64)
    if isinstance(repeats, Tensor) and repeats.numel() == 1:
        repeats = int(repeats)
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError(f"repeat_interleave: repeats must not be negative, got {repeats}")
        shape = list(x.shape)
        grown = x.unsqueeze(dim + 1).expand([*shape[: dim + 1], repeats, *shape[dim + 1 :]])
        return grown.clone().reshape([*shape[:dim], size * repeats, *shape[dim + 1 :]])
    if repeats.numel() != size:
        raise RuntimeError(f"repeat_interleave: {size} repeats are wanted for dim {dim}, got {repeats.numel()}")
    return ops.index(x, [None] * dim + [_positions(repeats, output_size)])


def _positions(repeats: Tensor, output_size: int | None) -> Tensor:
    if repeats.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"repeat_interleave: repeats must be integers, got {repeats.dtype}")
    if repeats.ndim != 1:
        raise RuntimeError(f"repeat_interleave: repeats of 1 dim are wanted, got shape {list(repeats.shape)}")
    total = int(repeats.sum()) if output_size is None else output_size
    if total < 0:
        raise RuntimeError("repeat_interleave: repeats must not be negative")
    return ops.repeat_positions(repeats.to(int64), total)


@export(function=True, method=True)
def fliplr(input: Tensor) -> Tensor:
    """The elements in reverse order along dim 1."""
    if input.ndim < 2:
        raise RuntimeError(f"fliplr: at least 2 dims are wanted, got shape {list(input.shape)}")
    return ops.flip(input, 1)


@export(function=True, method=True)
def flipud(input: Tensor) -> Tensor:
    """The elements in reverse order along dim 0."""
    if input.ndim < 1:
        raise RuntimeError("flipud: at least 1 dim is wanted")
    return ops.flip(input, 0)


@export(function=True, method=True)
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Positions moved by `shifts` along `dims`, those pushed out at the end put in front; flattened without dims."""
    moves = [shifts] if hasattr(shifts, "__index__") else list(shifts)
    if dims is None or (not hasattr(dims, "__index__") and not len(dims)):
        if len(moves) != 1:
            raise RuntimeError(f"roll: one shift is wanted without dims, got {moves}")
        return roll(input.reshape(-1), moves, 0).reshape(input.shape)
    places = [dims] if hasattr(dims, "__index__") else list(dims)
    if len(moves) != len(places):
        raise RuntimeError(f"roll: as many shifts as dims are wanted, got {moves} and {places}")
    result = input
    for shift, given in zip(moves, places, strict=True):
        dim = wrap_dim("roll", given, input.ndim)
        if input.ndim == 0:
            raise IndexError("roll: a 0-dim tensor has no dims to roll")
        size = input.shape[dim]
        if size and shift % size:
            cut = size - shift % size
            result = ops.cat([ops.slice(result, dim, cut, size), ops.slice(result, dim, 0, cut)], dim)
    return result.clone() if result is input else result


@export(function=True, method=True)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters in the plane of two dims, from the first towards the second."""
    if input.ndim < 2:
        raise RuntimeError(f"rot90: at least 2 dims are wanted, got shape {list(input.shape)}")
    if len(dims) != 2:
        raise RuntimeError(f"rot90: two dims are wanted, got {tuple(dims)}")
    a, b = wrap_dims("rot90", dims, input.ndim)
    turns = k % 4
    if turns == 1:
        return ops.flip(input, b).transpose(a, b)
    if turns == 2:
        return ops.flip(input, [a, b])
    if turns == 3:
        return ops.flip(input, a).transpose(a, b)
    return input.clone()
