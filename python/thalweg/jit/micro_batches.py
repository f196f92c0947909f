"""A batch in parts: gradients of the whole with the memory of a part."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import thalweg as tw
from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.jit.context import tracing
from thalweg.jit.control import scan
from thalweg.jit.convert.calls import converted
from thalweg.jit.regions import Again, Carried, Recording, as_tensor
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

    A traced function holds `function` once, as the body of a loop over the parts, so that neither building it nor its
    memory grows with them; its Python code runs once. Random numbers are those of the whole batch, of which each part
    draws its rows: a tensor's rows are its dim 0 where that is the batch of a part or a multiple of it, else the first
    dim that is as large; without such a dim every part draws the same. Running statistics go from part to part.

    Losses that are means over unequal counts, such as of the tokens that are kept, weigh the same in every part. For
    the mean of all, sum in a part, and divide by what a part has on average, given as an argument: the batch's count /
    parts.

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
        batch = _Batch((args, kwargs), parts)
        if tracing.current is not None and not batch.is_global:
            return _loop(converted(function), batch)
        results = []
        with batch.scaled() as part:
            for i in range(parts):
                part.begin(i)
                part_args, part_kwargs = batch.part(i)
                results.append(function(*part_args, **part_kwargs))
        return _joined(results)

    return run


class _Batch:
    """Arguments, and which of their tensors are cut."""

    def __init__(self, arguments: Any, parts: int) -> None:
        self.arguments, self.parts = arguments, parts
        tensors = _tensors_of(arguments)
        sizes = [tensor.shape[0] for tensor in tensors if tensor.ndim]
        if not sizes:
            raise ValueError("micro_batches: a tensor with a batch dim is wanted among the arguments, got none")
        if sizes[0] % parts:
            raise ValueError(f"micro_batches: a batch that {parts} parts divide is wanted, got {sizes[0]}")
        self.size = sizes[0] // parts  # of a part
        self.wholes = [tensor for tensor in tensors if self._is_cut(tensor)]
        self.is_global = any(_native.is_global(tensor) for tensor in tensors)

    def _is_cut(self, tensor: Tensor) -> bool:
        return tensor.ndim > 0 and tensor.shape[0] == self.size * self.parts

    def _replaced(self, change: Callable[[Tensor], Tensor]) -> Any:
        return replace_tensors(self.arguments, "", lambda _, tensor: change(tensor))

    def part(self, i: int) -> Any:
        """The arguments of part i."""
        begin, end = i * self.size, (i + 1) * self.size
        return self._replaced(lambda tensor: tensor[begin:end] if self._is_cut(tensor) else tensor)

    def with_parts(self, tensors: list[Tensor]) -> Any:
        """The arguments with these in the place of `wholes`."""
        given = iter(tensors)
        return self._replaced(lambda tensor: next(given) if self._is_cut(tensor) else tensor)

    @contextlib.contextmanager
    def scaled(self) -> Iterator[Any]:
        """Inside, gradients are those of a mean of parts, and random numbers those of parts."""
        before = _native.set_gradient_scale(1.0)
        part = _native.BatchPart(self.size, self.parts)
        try:
            _native.set_gradient_scale(before / self.parts)
            yield part
        finally:
            part.end()
            _native.set_gradient_scale(before)


# ---- in a trace


def _loop(function: Callable, batch: _Batch) -> Any:
    """Records the function as the body of a loop."""
    trace = tracing.current
    slices = [whole.reshape(batch.parts, batch.size, *whole.shape[1:]) for whole in batch.wholes]
    carried = Carried("micro_batches", ())
    callbacks = len(trace.callbacks)
    while True:
        del trace.callbacks[callbacks:]
        carried.tensors()
        try:
            with Recording("body") as region:
                _, given = carried.begin(region, slices)
                versions = [tensor._version for tensor in given]
                args, kwargs = batch.with_parts(given)
                with batch.scaled():
                    result = function(*args, **kwargs)
                called, trace.callbacks[callbacks:] = trace.callbacks[callbacks:], []
                written = [i for i, tensor in enumerate(given) if tensor._version != versions[i]]
                made = _tensors_of(((result, called), [given[i] for i in written]))
                made = [_after_backward(tensor) for tensor in made]
                carried.finish(region, made)
        except Again:
            continue
        break
    done = iter(_native.finish_loop(trace.tracer, None, [], slices, batch.parts, False, region, parts=True))
    result = replace_tensors(result, "", lambda _, last: _of_stack(last, next(done)))
    stacks = [next(done) for _ in _tensors_of(called)]
    for i in range(batch.parts):
        for call in _with_tensors(called, [stack[i] for stack in stacks]):
            trace.add_callback(*call)
    for i in written:
        batch.wholes[i].copy_(next(done).reshape(batch.wholes[i].shape))
    return result


def _tensors_of(tree: Any) -> list[Tensor]:
    found: list[Tensor] = []

    def note(_: str, tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    replace_tensors(tree, "", note)
    return found


def _with_tensors(tree: Any, tensors: list[Tensor]) -> Any:
    given = iter(tensors)
    return replace_tensors(tree, "", lambda *_: next(given))


def _of_stack(last: Tensor, stack: Tensor) -> Tensor:
    """The result of the batch from those of its parts."""
    if last.ndim:
        return stack.reshape(-1, *last.shape[1:])
    if last.dtype.is_floating_point or last.dtype.is_complex:
        total, _ = scan(lambda total, loss: (total + loss, ()), as_tensor(0, last.dtype), stack)
        return total / stack.shape[0]
    return stack


# ---- in eager mode


def _after_backward(tensor: Tensor) -> Tensor:
    done = tensor.grad_fn is not None and _native.backward_has_run(tensor)
    return tensor.detach() if done else tensor


def _joined(results: list) -> Any:
    parts: dict[str, list[Tensor]] = {}

    def collect(path: str, tensor: Tensor) -> Tensor:
        parts.setdefault(path, []).append(_after_backward(tensor))
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
