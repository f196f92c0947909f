"""Checkpoints: parts of a program whose intermediate values are computed again in backward instead of being kept.

The tensors that the part saves for backward are replaced by *holders*. The first holder that backward asks for runs the
part once more, with the same arguments, random numbers and autocast, and fills all of them. In a traced function this
becomes a part of the graph: a copy of the forward that reads its inputs after a gradient, see the op `after`.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.autograd.graph import saved_tensors_hooks
from thalweg.autograd.modes import enable_grad
from thalweg.frontend.random import default_generator
from thalweg.jit.context import tracing

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]


class CheckpointError(RuntimeError):
    """The part did not compute the same the second time."""


def noop_context_fn() -> tuple:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool = False,
    context_fn: Callable[[], tuple] = noop_context_fn,
    determinism_check: str = "default",
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Calls `function(*args, **kwargs)`; what its backward needs is computed again then, and not kept until then.

    Args:
        function: must compute the same when it is called again; it may read tensors besides its arguments.
        use_reentrant: True is accepted and runs the same way; keyword arguments are then refused, as in PyTorch.
        context_fn: returns two context managers, for the call and for its repetition.
        determinism_check: "default" compares shapes and dtypes of what is computed again, "none" does not.
        early_stop: whether the repetition ends as soon as it has all that backward needs.
        preserve_rng_state: whether the repetition draws the same random numbers.

    Returns: what the function returns.

    Errors: CheckpointError, in backward, where the repetition saves other tensors than the call did.

    >>> import thalweg as tw
    >>> layer, x = tw.nn.Linear(4, 4), tw.ones(2, 4, requires_grad=True)
    >>> tw.checkpoint(lambda x: layer(x).tanh(), x).sum().backward()
    >>> x.grad.shape
    thalweg.Size([2, 4])
    """
    if use_reentrant and kwargs:
        raise ValueError(f"checkpoint: unexpected keyword arguments: {', '.join(kwargs)}")
    if determinism_check not in ("default", "none"):
        raise ValueError(f'checkpoint: determinism_check must be "default" or "none", got {determinism_check!r}')
    if not _native.grad_enabled():
        return function(*args, **kwargs)
    first, again = context_fn()
    part = _Part(function, args, kwargs, again, determinism_check == "default", early_stop, preserve_rng_state)
    with first, saved_tensors_hooks(part.pack, part.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool = False, **kwargs: Any) -> Any:
    """Runs modules or functions one after the other, in `segments` parts of which all but the last are checkpoints.

    Args:
        functions: an nn.Sequential, or a list of functions.
        segments: into how many parts they are cut.
        input: what the first of them takes.
        use_reentrant, preserve_rng_state: as for `checkpoint`.

    >>> import thalweg as tw
    >>> layers = tw.nn.Sequential(*(tw.nn.Linear(3, 3) for _ in range(4)))
    >>> tw.utils.checkpoint.checkpoint_sequential(layers, 2, tw.ones(1, 3)).shape
    thalweg.Size([1, 3])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"checkpoint_sequential: unexpected keyword arguments: {', '.join(kwargs)}")
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(len(steps), 1):
        raise ValueError(f"checkpoint_sequential: 1 to {len(steps)} segments are wanted, got {segments}")

    def run(part: list) -> Callable:
        def forward(value: Any) -> Any:
            for step in part:
                value = step(value)
            return value

        return forward

    size, last = len(steps) // segments, 0
    for _ in range(segments - 1):
        part, last = steps[last : last + size], last + size
        input = checkpoint(run(part), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(steps[last:])(input)


class _Holder:
    """Stands for a saved tensor; `tensor` is there once the part has run again."""

    __slots__ = ("__weakref__", "dtype", "shape", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.tensor: Tensor | None = None


class _AllThere(Exception):
    """Ends a repetition early."""


class _Part:
    """A call that can be repeated."""

    def __init__(
        self, function: Callable, args: tuple, kwargs: dict, again: Any, compare: bool, early_stop: bool, preserve: bool
    ) -> None:
        self._function, self._context = function, again
        self._compare, self._early_stop, self._preserve = compare, early_stop, preserve
        self._holders: list[weakref.ref] = []  # in the order in which their tensors were saved
        # Tensors among the arguments are saved as any op saves them: an outer checkpoint packs them.
        self._names = list(kwargs)
        self._arguments = [*args, *kwargs.values()]
        self._places = [i for i, value in enumerate(self._arguments) if isinstance(value, Tensor)]
        tensors = [self._arguments[i] for i in self._places]
        self._tensors = _native.SavedTensors(tensors, [False] * len(tensors))
        for i in self._places:
            self._arguments[i] = None
        self._autocast = (_native.autocast_enabled(), _native.autocast_dtype())
        self._trace = tracing.current
        self._region = self._trace.tracer.region if self._trace else 0
        self._draws = self._trace.tracer.draws if self._trace else default_generator.get_state()

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(tensor)
        self._holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.tensor is None:
            self._run_again()
        if holder.tensor is None:
            raise CheckpointError("checkpoint: fewer tensors were saved when the function ran again in backward")
        return holder.tensor

    def _run_again(self) -> None:
        values = list(self._arguments)
        for i, tensor in zip(self._places, self._tensors.unpack(None)):
            values[i] = tensor
        count = len(values) - len(self._names)
        missing = sum(1 for known in self._holders if (holder := known()) is not None and holder.tensor is None)
        position = 0

        def fill(tensor: Tensor) -> Tensor:
            nonlocal missing, position
            if position == len(self._holders):
                raise CheckpointError("checkpoint: more tensors were saved when the function ran again in backward")
            holder = self._holders[position]()
            position += 1
            if holder is None or holder.tensor is not None:
                return tensor
            if self._compare and (tensor.shape, tensor.dtype) != (holder.shape, holder.dtype):
                raise CheckpointError(
                    f"checkpoint: tensor {position - 1} that was saved is {holder.dtype} of shape "
                    f"{tuple(holder.shape)}, and {tensor.dtype} of shape {tuple(tensor.shape)} when the function ran "
                    "again in backward"
                )
            holder.tensor = _native.detach(tensor)
            missing -= 1
            if missing == 0 and self._early_stop:
                raise _AllThere
            return tensor

        with (
            enable_grad(),
            self._same_modes(),
            self._same_numbers(),
            self._context,
            saved_tensors_hooks(fill, _as_it_is),
            contextlib.suppress(_AllThere),
        ):
            self._function(*values[:count], **dict(zip(self._names, values[count:])))

    @contextlib.contextmanager
    def _same_modes(self) -> Iterator[None]:
        before = (_native.autocast_enabled(), _native.autocast_dtype())
        _native.set_autocast(*self._autocast)
        try:
            yield
        finally:
            _native.set_autocast(*before)

    @contextlib.contextmanager
    def _same_numbers(self) -> Iterator[None]:
        if tracing.current is not self._trace:
            raise RuntimeError(
                "checkpoint: its forward and its backward have to run in the same traced function, or both outside"
            )
        if self._trace:
            tracer = self._trace.tracer
            tracer.begin_again(self._region, self._draws if self._preserve else tracer.draws)
            try:
                yield
            finally:
                tracer.end_again()
            return
        before = default_generator.get_state()
        if self._preserve:
            default_generator.set_state(self._draws)
        try:
            yield
        finally:
            if self._preserve:
                default_generator.set_state(before)


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor
