"""A batch in parts: gradients of the whole with the memory of a part."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import thalweg as tw
from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.jit.structure import replace_tensors

__all__ = ["micro_batches"]


def micro_batches(function: Callable, parts: int) -> Callable:
    """A function that calls `function` on each part of a batch in turn and puts the results together.

    Args:
        function: takes tensors, and lists, tuples and dicts of them. It may run backward.
        parts: into how many equal parts the batch is cut.

    Returns: a function with the same arguments. The batch is dim 0 of the first tensor among them that has dims; every
        tensor whose dim 0 has that size is cut along it, other arguments are given as they are. `backward()` inside
        multiplies by 1 / parts, so that what the parts add to `.grad` is the gradient of the mean of their losses.
        Results: floating 0-dim tensors (losses) become their mean, other 0-dim tensors are stacked, tensors with dims
        are joined along dim 0; what is no tensor comes from the last part. Those whose backward has run are detached.

    Inside a traced function all parts belong to the program, one after the other in the same memory. Random numbers and
    running statistics go from part to part as in a loop.

    Errors: ValueError where the parts do not divide the batch, or nothing has a batch.

    >>> import thalweg as tw
    >>> weight = tw.tensor([1.0, 2.0], requires_grad=True)
    >>> def learn(x):
    ...     loss = ((x * weight) ** 2).mean()
    ...     loss.backward()
    ...     return loss.detach()
    >>> tw.micro_batches(learn, 2)(tw.ones(4, 2)), weight.grad
    (tensor(2.5000), tensor([1., 2.]))
    """
    if type(parts) is not int or parts < 1:
        raise ValueError(f"micro_batches: a positive number of parts is wanted, got {parts!r}")
    if parts == 1:
        return function

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        size = _part_size((args, kwargs), parts)
        before = _native.set_gradient_scale(1.0)
        results = []
        try:
            _native.set_gradient_scale(before / parts)
            for i in range(parts):
                part_args, part_kwargs = replace_tensors((args, kwargs), "", _cutter(i, size, parts))
                results.append(function(*part_args, **part_kwargs))
        finally:
            _native.set_gradient_scale(before)
        return _joined(results)

    return run


def _part_size(arguments: Any, parts: int) -> int:
    sizes: list[int] = []

    def look(_: str, tensor: Tensor) -> Tensor:
        if tensor.ndim:
            sizes.append(tensor.shape[0])
        return tensor

    replace_tensors(arguments, "", look)
    if not sizes:
        raise ValueError("micro_batches: a tensor with a batch dim is wanted among the arguments, got none")
    if sizes[0] % parts:
        raise ValueError(f"micro_batches: a batch that {parts} parts divide is wanted, got {sizes[0]}")
    return sizes[0] // parts


def _cutter(part: int, size: int, parts: int) -> Callable[[str, Tensor], Tensor]:
    def cut(_: str, tensor: Tensor) -> Tensor:
        whole = tensor.ndim > 0 and tensor.shape[0] == size * parts
        return tensor[part * size : (part + 1) * size] if whole else tensor

    return cut


def _joined(results: list) -> Any:
    parts: dict[str, list[Tensor]] = {}

    def collect(path: str, tensor: Tensor) -> Tensor:
        if tensor.grad_fn is not None and _native.backward_has_run(tensor):
            tensor = tensor.detach()
        parts.setdefault(path, []).append(tensor)
        return tensor

    def join(path: str, last: Tensor) -> Tensor:
        tensors = parts[path]
        if len(tensors) != len(results):
            raise ValueError(f"micro_batches: the parts return tensors in different places, one is at {path!r}")
        if last.ndim:
            return tw.cat(tensors)
        if last.dtype.is_floating_point or last.dtype.is_complex:
            return sum(tensors[1:], start=tensors[0]) / len(tensors)
        return tw.stack(tensors)

    for result in results:
        replace_tensors(result, "", collect)
    return replace_tensors(results[-1], "", join)
