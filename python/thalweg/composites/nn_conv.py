"""conv1d to conv_transpose3d, written with the one op convolution."""

from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip


def per_dim(value: Any, dims: int, name: str, op: str) -> list[int]:
    """An int for each of `dims` dims; sequences of one stand for all."""
    if isinstance(value, int):
        return [value] * dims
    values = list(value)
    if len(values) == 1:
        values *= dims
    if len(values) != dims or not all(hasattr(v, "__index__") for v in values):
        raise RuntimeError(f"{op}: {name} of one int or {dims} is wanted, got {value!r}")
    return [int(v) for v in values]


def _check(op: str, dims: int, input: Tensor, weight: Tensor) -> None:
    if weight.dim() != dims + 2:
        raise RuntimeError(f"{op}: a weight with {dims + 2} dims is wanted, got shape {list(weight.shape)}")
    if input.dim() not in (dims + 1, dims + 2):
        shape = list(input.shape)
        raise RuntimeError(f"{op}: an input with {dims + 1} or {dims + 2} dims is wanted, got shape {shape}")


def _same_padding(size: list[int], dilation: list[int], stride: list[int], op: str) -> tuple[list[int], list[int]]:
    """Padding on both sides that is enough, and how many leading results are then too many."""
    if any(s != 1 for s in stride):
        raise RuntimeError(f"{op}: padding 'same' wants stride 1, got {stride}")
    totals = [d * (k - 1) for d, k in zip(dilation, size)]
    return [t - t // 2 for t in totals], [t % 2 for t in totals]


def _conv(
    op: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    _check(op, dims, input, weight)
    stride, dilation = per_dim(stride, dims, "stride", op), per_dim(dilation, dims, "dilation", op)
    surplus = None
    if padding == "valid":
        padding = [0] * dims
    elif padding == "same":
        padding, surplus = _same_padding(list(weight.shape[2:]), dilation, stride, op)
    elif isinstance(padding, str):
        raise RuntimeError(f"{op}: padding 'same', 'valid' or numbers are wanted, got {padding!r}")
    else:
        padding = per_dim(padding, dims, "padding", op)
    batched = input if input.dim() == dims + 2 else input.unsqueeze(0)
    result = ops.convolution(batched, weight, bias, stride, padding, dilation, False, [0] * dims, groups)
    for i, extra in enumerate(surplus or ()):
        if extra:
            result = ops.slice(result, i + 2, 1, result.shape[i + 2])
    return result if input.dim() == dims + 2 else result.squeeze(0)


def _conv_transpose(
    op: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    _check(op, dims, input, weight)
    stride, dilation = per_dim(stride, dims, "stride", op), per_dim(dilation, dims, "dilation", op)
    padding = per_dim(padding, dims, "padding", op)
    output_padding = per_dim(output_padding, dims, "output_padding", op)
    for extra, s, d in zip(output_padding, stride, dilation):
        if extra >= max(s, d):
            raise RuntimeError(
                f"{op}: output_padding smaller than stride or dilation is wanted, got {output_padding}, "
                f"stride {stride}, dilation {dilation}"
            )
    batched = input if input.dim() == dims + 2 else input.unsqueeze(0)
    result = ops.convolution(batched, weight, bias, stride, padding, dilation, True, output_padding, groups)
    return result if input.dim() == dims + 2 else result.squeeze(0)


@export(nn=True, function=True)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over the last dim: input [N, C, L] or [C, L], weight [O, C / groups, K].

    `padding` is zeros on both sides, "valid" (none) or "same" (the result is as long as the input; stride 1).

    Raises:
        RuntimeError: shapes that do not fit, naming them.

    >>> import thalweg as tw
    >>> tw.conv1d(tw.ones(1, 1, 4), tw.ones(1, 1, 2)).tolist()
    [[[2.0, 2.0, 2.0]]]
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@export(nn=True, function=True)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """conv1d over the last two dims."""
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@export(nn=True, function=True)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """conv1d over the last three dims."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@export(nn=True, function=True)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv1d as a map of its own: input [N, C, L] or [C, L], weight [C, O / groups, K].

    The result has (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1 positions.

    Raises:
        RuntimeError: shapes that do not fit, naming them.
    """
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@export(nn=True, function=True)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """conv_transpose1d over the last two dims."""
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@export(nn=True, function=True)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """conv_transpose1d over the last three dims."""
    return _conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )
