"""F.pad in its four modes."""

from collections.abc import Sequence

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.support import int64


def _source(position: int, size: int, mode: str) -> int:
    """Which element of a dim shows at a position beyond it."""
    if mode == "replicate":
        return min(max(position, 0), size - 1)
    if mode == "circular":
        return position % size
    position = abs(position)
    return position if position < size else 2 * (size - 1) - position


def _pad_dim(x: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    size = x.shape[dim]
    limit = {"reflect": size - 1, "circular": size}.get(mode)
    if limit is not None and max(before, after) > limit:
        raise RuntimeError(f"pad: {mode} pads of at most {limit} are wanted for a dim of size {size}, got "
                           f"{(before, after)}")  # fmt: skip
    if size + before + after <= 0:
        raise RuntimeError(f"pad: pads {(before, after)} leave nothing of a dim of size {size}")
    if size == 0:
        raise RuntimeError(f"pad: a dim without elements has nothing to {mode}")
    if mode == "circular" and min(before, after) < 0:  # what is cropped does not come round again
        x = ops.pad_constant(x, [0, 0] * (x.ndim - 1 - dim) + [min(before, 0), min(after, 0)])
        return _pad_dim(x, dim, max(before, 0), max(after, 0), mode)
    positions = [_source(p, size, mode) for p in range(-before, size + after)]
    return ops.index(x, [None] * dim + [x.new_tensor(positions, dtype=int64)])


@export(nn=True)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """A border around the last dims: `pad` holds (before, after) of the last dim, then of the one before it, ...

    Modes: "constant" (any number of dims), "reflect", "replicate" and "circular" (the last 1 to 3 dims of input with
    one or two dims more). Negative numbers crop.

    >>> import thalweg as tw
    >>> tw.nn.functional.pad(tw.tensor([[1, 2, 3]]), (2, 1), mode="circular")
    tensor([[2, 3, 1, 2, 3, 1]])
    """
    pads = [int(p) for p in pad]
    if len(pads) % 2:
        raise RuntimeError(f"pad: an even number of pads is wanted, got {pads}")
    if mode == "constant":
        return ops.pad_constant(input, pads, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"pad: mode must be constant, reflect, replicate or circular, got {mode!r}")
    if value not in (None, 0):
        raise RuntimeError(f"pad: mode {mode} takes no value")
    dims = len(pads) // 2
    if not (1 <= dims <= 3 and input.ndim in (dims + 1, dims + 2)):
        raise NotImplementedError(
            f"pad: mode {mode} pads the last 1 to 3 dims of input with one or two dims more, got {pads} for shape "
            f"{list(input.shape)}"
        )
    result = input
    for i in range(dims):
        before, after = pads[2 * i], pads[2 * i + 1]
        if before or after:
            result = _pad_dim(result, input.ndim - 1 - i, before, after, mode)
    return result.clone() if result is input else result
