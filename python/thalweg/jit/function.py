"""tw.jit: a function whose calls run as static programs."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from thalweg._core import _native
from thalweg.autograd import modes
from thalweg.autograd.function import Function, once_differentiable
from thalweg.autograd.functional import grad as autograd_grad
from thalweg.jit import context
from thalweg.jit.trace import Trace
from thalweg.jit.tree import flatten, key_of, unflatten

__all__ = ["Compiled", "jit"]

_CACHE_SIZE = 16


class _Program:
    """A finished trace, ready to run again."""

    def __init__(self, trace: Trace, step: Any, result: Any, gradient: _Gradient | None) -> None:
        self.trace, self.step, self.result, self.gradient = trace, step, result, gradient
        self._numbers, self._conditions, self._updates = trace.compile_numbers()
        self._outcomes = list(trace.guards.values())

    def read(self) -> list | None:
        """The numbers that the program reads, or None where it does not describe the function any more."""
        if not (self.trace.holds() and self.step.valid()):
            return None
        try:
            numbers = [container[key] for container, key in self.trace.places]
        except KeyError:
            return None
        if any(type(number) not in (int, float) for number in numbers):
            return None
        return numbers if self._conditions(numbers) == self._outcomes else None

    def why_not(self) -> str:
        """Why `read` returned None."""
        if reason := self.trace.what_changed():
            return reason
        if not self.step.valid():
            return "a parameter's requires_grad, whether a .grad is there, or the memory of a variable has changed"
        numbers = [container.get(key) for container, key in self.trace.places]
        for number, name in zip(numbers, self.trace.place_names):
            if type(number) not in (int, float):
                return f"{name} was a number, and is {number!r}"
        for (source, before), now in zip(self.trace.guards.items(), self._conditions(numbers)):
            if before != now:
                return f"{self.trace.describe(source)} was {before}, and is {now}"
        return "an older program of the same kind was dropped from the cache"

    def run(self, tensors: list, numbers: list) -> Any:
        if self.gradient and modes.is_grad_enabled():
            results: list = []
            gradient = self.gradient
            outside = [tensors[i] for i in gradient.arguments] + gradient.variables
            differentiated = _Call.apply(self, tensors, self._numbers(numbers), results, *outside)
            for i, tensor in zip(gradient.results, differentiated):
                results[i] = tensor
        else:
            results = self.step.run(tensors, self._numbers(numbers))
        for (container, key, _), value in zip(self.trace.updates, self._updates(numbers)):
            container[key] = value
        for call in self.trace.deferred:
            call()
        return unflatten(self.result, results)


class _Gradient:
    """Which results of a function are differentiated outside, and by what."""

    def __init__(self, results: list[int], arguments: list[int], variables: list, grads: list) -> None:
        self.results, self.arguments, self.variables, self.grads = results, arguments, variables, grads


def _record_gradient(tracer: Any, arguments: list, results: list) -> _Gradient | None:
    """Records the backward of results that the tape leads to; inside the trace, after the function."""
    # A training step that returns its loss has run backward itself, and freed the tape.
    roots = [
        i for i, tensor in enumerate(results) if tensor.grad_fn is not None and not _native.backward_has_run(tensor)
    ]
    wanted = [i for i, tensor in enumerate(arguments) if tensor.requires_grad]
    variables = [tensor for tensor in tracer.variables if tensor.requires_grad and tensor.is_leaf]
    if not roots or not (wanted or variables):
        return None
    seeds = [tracer.add_input(f"gradient {i}", results[i].detach().contiguous()) for i in roots]
    leaves = [arguments[i] for i in wanted] + variables
    grads = autograd_grad([results[i] for i in roots], leaves, seeds, allow_unused=True)
    return _Gradient(roots, wanted, variables, list(grads))


class _Call(Function):
    """A run of a program on the tape: backward is the second half of its trace."""

    @staticmethod
    def forward(ctx: Any, program: _Program, tensors: list, numbers: list, results: list, *outside: Any) -> tuple:
        assert program.gradient
        results += program.step.run(tensors, numbers)
        ctx.program = program
        ctx.versions = program.step.backward_versions()
        ctx.save_for_backward(*program.step.take_saved())
        return tuple(results[i] for i in program.gradient.results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple:
        seeds = [grad.contiguous() for grad in grads]
        found = ctx.program.step.run_backward(list(ctx.saved_tensors), seeds, ctx.versions)
        return (None, None, None, None, *found)


class Compiled:
    """A function that is traced when it is called with arguments of a new kind, and run as a static program.

    Made by `tw.jit`. Attributes: `__wrapped__`, the function.
    """

    def __init__(self, function: Callable, name: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = str(name or getattr(function, "__name__", type(function).__name__))
        self._programs: dict[Any, list[_Program]] = {}  # by key; the one used last comes last
        self._reasons: list[str] = []  # of each trace
        self.trace_count = 0

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if context.current is not None:  # inside another trace, the function is a part of that
            return self._function(*args, **kwargs)
        tensors: list = []
        tree = flatten((args, kwargs), tensors)
        tensors = [tensor if _native.is_dense(tensor) else tensor.contiguous() for tensor in tensors]
        key = (key_of(tree), tuple((t.dtype, t.shape, t.stride(), t.requires_grad) for t in tensors), modes.state())
        known = self._find(key)
        for i, program in enumerate(known):
            numbers = program.read()
            if numbers is not None:
                if i:
                    known.insert(0, known.pop(i))
                return program.run(tensors, numbers)
        self._reasons.append(self._reason(key, known))
        program = self._trace(tree, tensors)
        if program.step.made_state or program.trace.made_state:
            self._reasons[-1] += "; it made state that later calls find, so the next call is traced too"
        else:
            known.insert(0, program)
            del known[_CACHE_SIZE:]
        return program.run(tensors, [container[key] for container, key in program.trace.places])

    def _find(self, key: Any) -> list[_Program]:
        """The programs for a key. The keys used last are kept."""
        try:
            known = self._programs.pop(key, None)
        except TypeError:
            raise TypeError(
                f"{self._name}: arguments of a compiled function are tensors, and values that can be keys of a dict, "
                f"in lists, tuples, dicts and dataclasses; got {key[0]}"
            ) from None
        self._programs[key] = [] if known is None else known
        while len(self._programs) > _CACHE_SIZE:
            del self._programs[next(iter(self._programs))]
        return self._programs[key]

    def _reason(self, key: Any, known: list[_Program]) -> str:
        """Why a call is traced."""
        if known:
            return known[0].why_not()
        others = [other for other, programs in self._programs.items() if programs and other != key]
        if not others:
            return "it is the first call, or the one after a call that made state"
        (tree, tensors, mode), (new_tree, new_tensors, new_mode) = others[-1], key
        if tree != new_tree:
            return "arguments that are no tensors differ, or their structure does"
        if mode != new_mode:
            return f"grad mode, inference mode and autocast were {mode}, and are {new_mode}"
        names = ("dtype", "shape", "strides", "requires_grad")
        return "; ".join(
            f"{name} of tensor {i} was {old}, and is {new}"
            for i, (before, now) in enumerate(zip(tensors, new_tensors))
            for name, old, new in zip(names, before, now)
            if old != new
        )

    def explain(self) -> str:
        """Says for each trace why it was made, one a line."""
        lines = (f"trace {i}: {reason}" for i, reason in enumerate(self._reasons))
        return "\n".join([f"{self._name}: {self.trace_count} traces", *lines])

    def _trace(self, tree: Any, tensors: list) -> _Program:
        self.trace_count += 1
        trace = Trace(self._name)
        symbolic = [trace.tracer.add_input(f"argument {i}", tensor) for i, tensor in enumerate(tensors)]
        args, kwargs = unflatten(tree, symbolic)
        results: list = []
        with trace:
            result = flatten(self._function(*args, **kwargs), results)
            gradient = _record_gradient(trace.tracer, symbolic, results)
        step = trace.tracer.finish(results)
        if gradient:
            step.set_gradients(trace.tracer, gradient.grads, len(tensors))
            gradient.grads.clear()
        for i in range(len(tensors)):
            if trace.tracer.input_written(i):
                raise NotImplementedError(f"{trace_name(self._function)}: it writes to its argument {i} in place")
        del args, kwargs, symbolic
        results.clear()
        step.compile(trace.tracer)
        return _Program(trace, step, result, gradient)

    def programs(self) -> list[_Program]:
        """All programs that are kept."""
        return [program for known in self._programs.values() for program in known]

    def plan(self, number: int = 0) -> Any:
        """The `thalweg.jit.plan.Plan` of a program in `programs()`: its text, its memory over time, a page of it."""
        programs = self.programs()
        if not -len(programs) <= number < len(programs):
            name = trace_name(self._function)
            raise IndexError(f"{name}: it has {len(programs)} programs, each made by a call; got number {number}")
        return importlib.import_module("thalweg.jit.plan").Plan.of_step(programs[number].step)


def trace_name(function: Callable) -> str:
    return getattr(function, "__qualname__", repr(function))


def jit(function: Callable | None = None) -> Any:
    """Makes a function run as a static program: traced at the first call with arguments of a new kind, then run anew.

    Args:
        function: any function of tensors, numbers, strings, None, and lists, tuples, dicts and dataclasses of them. It
            may run backward, step optimizers and write to the tensors it finds outside: these are its variables.

    Returns: a Compiled, to be called like the function.

    Python code runs while tracing only. Tensors that it finds outside are read and written where they are in every
    call, as are the numbers in optimizers; other values of Python are constants of the program.

    >>> import thalweg as tw
    >>> @tw.jit
    ... def f(x):
    ...     return (x * x).sum()
    >>> f(tw.tensor([1.0, 2.0])), f(tw.tensor([3.0, 4.0]))
    (tensor(5.), tensor(25.))
    >>> f.trace_count
    1
    """
    if function is None:
        return jit
    return Compiled(function)


def explain(function: Compiled) -> str:
    """Says for each trace of a compiled function why it was made; it is `tw.jit.explain`.

    >>> import thalweg as tw
    >>> f = tw.jit(lambda x: x + 1)
    >>> f(tw.ones(2)), f(tw.ones(2, dtype=tw.float64))
    (tensor([2., 2.]), tensor([2., 2.], dtype=thalweg.float64))
    >>> print(tw.jit.explain(f).splitlines()[-1])
    trace 1: dtype of tensor 0 was thalweg.float32, and is thalweg.float64
    """
    if not isinstance(function, Compiled):
        raise TypeError(f"explain: a function made by tw.jit is wanted, got {type(function).__name__}")
    return function.explain()


jit.explain = explain  # type: ignore[attr-defined]
