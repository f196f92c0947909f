"""tw.jit: a function whose calls run as static programs."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

from thalweg._core import _native
from thalweg.autograd import modes
from thalweg.jit.context import max_iterations, tracing
from thalweg.jit.convert.calls import converted
from thalweg.jit.convert.errors import check_result, with_place
from thalweg.jit.numbers import Number
from thalweg.jit.prefetch import prefetch, results_over
from thalweg.jit.program import Program, record_gradient
from thalweg.jit.trace import Trace

__all__ = ["Compiled", "jit"]

_CACHE_SIZE = 32  # programs of a function
_TENSOR_FIELDS = (
    "dtype",
    "shape",
    "strides",
    "requires_grad",
    "is_leaf",
    "is_inference",
    "read-only flag",
    "layout",
    "device",
)
_MODES = ("grad mode", "inference mode", "autocast")

# One thread traces at a time: while it does, numbers of optimizers stand for those of the program.
_trace_lock = threading.RLock()


class _EntangledError(Exception):
    """A trace has to be made again: see Compiled._trace_until_apart."""


def _dropper(function: weakref.ref) -> Callable[[Any], None]:
    """Called when an argument that programs were made for is gone: drops them."""

    def drop(_: Any) -> None:
        compiled = function()
        if compiled is not None:
            compiled._keep(compiled._programs())

    return drop


class Compiled(_native.CallPath):
    """A function that is traced when it is called with arguments of a new kind, and run as a static program.

    Made by `tw.jit`. Attributes: `__wrapped__`, the function; `trace_count`, how often it has been traced. Calls from
    several threads run one after the other.
    """

    def __init__(
        self,
        function: Callable,
        name: str | None = None,
        static_argnums: int | Iterable[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
        steps_in_flight: int = 0,
        memory_budget: int | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._set_function(function)
        self._name = str(name or getattr(function, "__name__", type(function).__name__))
        self._static_nums, self._static_names = _static_arguments(function, static_argnums, static_argnames)
        self._steps_in_flight = steps_in_flight  # 0: a call returns when the step has run
        self._varying: set[tuple[int, Any]] = set()  # (id of container, key) of numbers outside that have changed
        self._reasons: list[str] = []  # of each trace
        self.trace_count = 0
        self.set_memory_budget(memory_budget)

    def set_memory_budget(self, size_bytes: int | None) -> None:
        """The budget of programs that are traced from now on: see `tw.jit`."""
        if size_bytes is not None and (type(size_bytes) is not int or size_bytes < 0):
            raise ValueError(f"jit: memory_budget must be a number of bytes, got {size_bytes!r}")
        self.memory_budget = size_bytes

    def __reduce__(self) -> Any:
        """Pickles and copies have no programs yet; one that its module has under its name is pickled by name."""
        name, module = getattr(self, "__qualname__", ""), sys.modules.get(getattr(self, "__module__", ""))
        if "." not in name and getattr(module, name, None) is self:
            return name
        options = (self._static_nums, self._static_names, self._steps_in_flight, self.memory_budget)
        return type(self), (self._function, self._name, *options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def over(self, batches: Iterable, *, ahead: int = 2) -> Iterator[Any]:
        """Yields the result of a call for each batch, while up to `ahead` further batches are read (`tw.jit.prefetch`).

        Batches that are tuples or lists are the call's arguments; any other is its only one. The end of the batches
        ends the loop; what they raise is raised here, after the results of those before; leaving the loop stops
        reading.

        >>> import thalweg as tw
        >>> add = tw.jit(lambda x, y: (x + y).sum())
        >>> [total.item() for total in add.over((tw.ones(2), tw.ones(2) * i) for i in range(3))]
        [2.0, 4.0, 6.0]
        """
        return results_over(self, batches, ahead)

    # ---- called by the core

    def _trace_call(self, args: tuple, kwargs: dict) -> tuple[Program, bool]:
        """Traces a call that no program serves; returns its program, and whether later calls may use it."""
        structure = _native.Structure.of_call(args, kwargs, self._static_nums, self._static_names, self._name)
        self._reasons.append(self._reason(structure))
        with _trace_lock:
            self.trace_count += 1
            program = self._trace_until_apart(structure, args)
        keep = not (program.step.made_state or program.made_state)
        if keep:
            self._make_room()
            program.watched = structure.weak_references(_dropper(weakref.ref(self)))
        else:
            self._reasons[-1] += "; it made state that later calls find, so the next call is traced too"
        return program, keep

    def _call_back(self, result: tuple) -> Any:
        """Runs the callbacks of a call; `result` is what the program gives: the function's result, and the calls."""
        value, calls = result
        if self._steps_in_flight:
            _native.call_on_host(functools.partial(_make_calls, calls))
        else:
            _make_calls(calls)
        return value

    # ---- tracing

    def _trace_until_apart(self, structure: Any, args: tuple) -> Program:
        """Traces again where a written argument turns out to share memory with others, or to have gaps in its own."""
        as_is: dict[int, bool] = {}
        while True:
            trace = Trace(self._name, structure.numbers, self._varying)
            program = self._trace(trace, structure, args, as_is)
            if program is not None:
                return program
            found = dict(trace.tracer.entangled())
            assert not found.keys() <= as_is.keys(), "an argument that was given as it is still is entangled"
            as_is.update(found)

    def _trace(self, trace: Trace, structure: Any, args: tuple, as_is: dict[int, bool]) -> Program | None:
        """One trace; None where arguments beyond those in `as_is` must be given to the function as they are."""
        tensors = structure.tensors
        trace.asynchronous = self._steps_in_flight > 0
        symbolic = [self._add_argument(trace, i, tensor, as_is) for i, tensor in enumerate(tensors)]
        traced_args, traced_kwargs = structure.build_call(symbolic, trace.numbers)
        results: list = []
        try:
            with trace:
                self._watch(trace, args)
                traced_args = [trace.stand_in(arg) for arg in traced_args]
                traced_kwargs = {name: trace.stand_in(arg) for name, arg in traced_kwargs.items()}
                value = converted(self._function)(*traced_args, **traced_kwargs)
                check_result(value)
                if trace.tracer.entangled():
                    raise _EntangledError
                self._check_written(trace, symbolic)
                returned = _native.Structure.of_result(value, Number)
                gradient = record_gradient(trace.tracer, symbolic, returned.tensors)
                if trace.callbacks:
                    returned = _native.Structure.of_result((value, trace.callbacks), Number)
                results = returned.tensors
            step = trace.tracer.finish(results)
            if gradient:
                step.set_gradients(trace.tracer, gradient.grads, len(tensors))
                gradient.grads.clear()
                if gradient.refusal:
                    step.refuse_gradients(gradient.refusal)
            returned.forget()
            del traced_args, traced_kwargs, symbolic, results, value
            trace.has_callbacks = bool(trace.callbacks)
            trace.callbacks.clear()  # what it held is in `returned`
            step.compile(trace.tracer, -1 if self.memory_budget is None else self.memory_budget)
            step.set_steps_in_flight(self._steps_in_flight)
            return Program(trace, structure, returned, step, gradient)
        except _EntangledError:
            trace.abandon()
            return None
        except BaseException as error:
            trace.abandon()
            if isinstance(error, RuntimeError) and (said := with_place(error)) is not error:
                raise said from error
            raise

    def _add_argument(self, trace: Trace, i: int, tensor: Any, as_is: dict[int, bool]) -> Any:
        """What the function gets for a tensor."""
        if i not in as_is:
            return trace.tracer.add_input(f"argument {i}", tensor)
        if tensor.requires_grad:
            raise NotImplementedError(
                f"{self._name}: argument {i}, which requires grad, shares memory with others or has gaps in its own, "
                "and is written to in place; clone() it before"
            )
        trace.tracer.add_as_is(tensor, as_is[i])
        return tensor

    def _check_written(self, trace: Trace, symbolic: list) -> None:
        for i, tensor in enumerate(symbolic):
            if trace.tracer.input_written(i) and tensor.grad_fn is not None:
                raise NotImplementedError(
                    f"{self._name}: what is written to argument {i} in place requires grad, and would go on beyond the "
                    "call: detach() it, or write to a clone and return that"
                )

    def _watch(self, trace: Trace, args: tuple) -> None:
        """Guards what the function's code reads by name, and the attributes of the object whose method it is."""
        function = inspect.unwrap(self._function)
        owner = getattr(function, "__self__", None)
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        if code is None:
            return
        outside = function.__globals__
        trace.watch(outside, "global ", [name for name in code.co_names if name in outside])
        seen = [outside[name] for name in code.co_names if name in outside]
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            seen += trace.watch_cell(cell, name)
        is_method = owner is None and args and code.co_varnames[:1] == ("self",)
        owner = args[0] if is_method else owner
        trace.watch_generators(function, owner)
        if hasattr(owner, "__dict__") and not hasattr(owner, "_parameters"):
            trace.watch(owner.__dict__, type(owner).__name__)
            seen += owner.__dict__.values()
        for item in [*seen, *args, owner]:
            trace.meet(item)

    def _make_room(self) -> None:
        """Drops the programs used longest ago, and those whose arguments are gone."""
        self._keep(self._programs()[: _CACHE_SIZE - 1])

    # ---- explanations

    def _reason(self, structure: Any) -> str:
        """Why a call is traced."""
        programs = self._programs()
        if not programs:
            return "it is the first call, or the one after a call that made state"
        tree, tensors, mode = structure.parts, structure.types, modes.state()
        for program in programs:
            if program.kind == (tree, tensors, mode):
                reason, container, key, now = program.what_changed()
                if container is not None and type(now) in (int, float):
                    self._varying.add((id(container), key))
                return reason
        old_tree, old_tensors, old_mode = programs[0].kind
        if tree != old_tree:
            before, now = next((a, b) for a, b in zip_longest(old_tree, tree, fillvalue="nothing") if a != b)
            return f"arguments that are no tensors differ, or their structure does: {before} became {now}"
        if mode != old_mode:
            changes = [
                f"{name} was {old}, and is {new}" for name, old, new in zip(_MODES, old_mode, mode) if old != new
            ]
            return "; ".join(changes)
        return "; ".join(
            f"{name} of tensor {i} was {old}, and is {new}"
            for i, (before, now) in enumerate(zip(old_tensors, tensors))
            for name, old, new in zip(_TENSOR_FIELDS, before, now)
            if old != new
        )

    def explain(self) -> str:
        """Says for each trace why it was made, one a line."""
        lines = (f"trace {i}: {reason}" for i, reason in enumerate(self._reasons))
        return "\n".join([f"{self._name}: {self.trace_count} traces", *lines])

    def programs(self) -> list[Program]:
        """All programs that are kept, the one used last first."""
        return self._programs()

    def plan(self, number: int = 0) -> Any:
        """The `thalweg.jit.plan.Plan` of a program in `programs()`: its text, its memory over time, a page of it."""
        programs = self.programs()
        if not -len(programs) <= number < len(programs):
            name = trace_name(self._function)
            raise IndexError(f"{name}: it has {len(programs)} programs, each made by a call; got number {number}")
        return importlib.import_module("thalweg.jit.plan").Plan.of_step(programs[number].step)


def _make_calls(calls: list) -> None:
    for function, args, kwargs in calls:
        function(*args, **kwargs)


def trace_name(function: Callable) -> str:
    return getattr(function, "__qualname__", repr(function))


def _static_arguments(function: Callable, nums: Any, names: Any) -> tuple[list[int], list[str]]:
    """Positions and names of the arguments that are constants; each implies the other, where it has both."""
    nums = [nums] if isinstance(nums, int) else list(nums or ())
    names = [names] if isinstance(names, str) else list(names or ())
    if not (nums or names):
        return [], []
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    known = {p.name for p in parameters if p.kind != p.VAR_KEYWORD}
    open_names = any(p.kind == p.VAR_KEYWORD for p in parameters)
    open_nums = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    for name in names:
        if not isinstance(name, str) or not (name in known or open_names):
            raise ValueError(f"jit: static_argnames are names of arguments of {trace_name(function)}, got {name!r}")
    for i, num in enumerate(nums):
        if not open_nums and not -len(positional) <= num < len(positional):
            raise ValueError(f"jit: static_argnums are positions among {len(positional)} arguments, got {num}")
        nums[i] = num + len(positional) if num < 0 else num
    all_nums = {*nums, *(positional.index(name) for name in names if name in positional)}
    return sorted(all_nums), sorted({*names, *(positional[num] for num in nums if num < len(positional))})


def jit(
    function: Callable | None = None,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    asynchronous: bool = False,
    steps_in_flight: int = 2,
    memory_budget: int | None = None,
) -> Any:
    """Makes a function run as a static program: traced at the first call with arguments of a new kind, then run anew.

    Args:
        function: any function of tensors, numbers, strings, None, and lists, tuples, dicts and dataclasses of them. It
            may run backward, step optimizers and write to the tensors it finds outside: these are its variables.
        static_argnums, static_argnames: positions and names of arguments whose values are constants of the program.
        memory_budget: the most bytes that a program may take beside its arguments, variables and results. Values are
            computed twice where they would need more if they were kept; the results stay the same to the last bit. The
            call that makes the state of an optimizer may take more. Without a budget, values are computed twice where
            that takes next to no time.
        asynchronous: a call returns at once, and the step runs while Python goes on. Whatever reads a result, or
            touches a variable or an argument of a step in flight, waits for it first, so that programs give the same
            numbers as otherwise. Only memory that another library has got (`x.numpy()`, DLPack) is read and written by
            that library without waiting: call `tw.synchronize()` before. Arguments that are NumPy's memory are copied.
        steps_in_flight: how many steps may have begun and not be done; a call waits for its turn.

    A failure of an asynchronous step is raised once, by whoever waits or calls next, and whenever one of its results is
    read. Steps that were in flight after it have not run then; what is called later does.

    Returns: a Compiled, to be called like the function. Of a method, the programs of each object are its own, and do
        not keep it alive.

    Python code runs while tracing only. Tensors that it finds outside are read and written where they are in every
    call, as are the numbers in optimizers. Arguments that are ints and floats are numbers of the program, so that
    another value need not trace anew; where their value decides something (a size, an `if`), the outcome is guarded.
    Other arguments, and static ones, are constants, each value with a program of its own. Attributes of modules, and
    what the function's own code reads by name, are guarded; a number among them that changes becomes one of the
    program.

    Errors: ValueError where a memory budget cannot be met.

    >>> import thalweg as tw
    >>> @tw.jit
    ... def f(x, scale):
    ...     return (x * scale).sum()
    >>> f(tw.tensor([1.0, 2.0]), 2), f(tw.tensor([3.0, 4.0]), 3)
    (tensor(6.), tensor(21.))
    >>> f.trace_count
    1
    >>> @tw.jit(static_argnames="reduction")
    ... def g(x, reduction):
    ...     return getattr(x, reduction)()
    >>> g(tw.tensor([1.0, 2.0]), "sum"), g(tw.tensor([1.0, 2.0]), reduction="mean"), g.trace_count
    (tensor(3.), tensor(1.5000), 2)
    """
    if steps_in_flight < 1:
        raise ValueError(f"jit: steps_in_flight is a positive number, got {steps_in_flight}")
    if function is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            memory_budget=memory_budget,
            asynchronous=asynchronous,
            steps_in_flight=steps_in_flight,
        )
    if not callable(function):
        raise TypeError(f"jit: a function is wanted, got {type(function).__name__}")
    flight = steps_in_flight if asynchronous else 0
    return Compiled(function, None, static_argnums, static_argnames, flight, memory_budget)


def explain(function: Compiled) -> str:
    """Says for each trace of a compiled function why it was made; it is `tw.jit.explain`.

    >>> import thalweg as tw
    >>> f = tw.jit(lambda x: x + 1)
    >>> f(tw.ones(2)), f(tw.ones(2, dtype=tw.float64))
    (tensor([2., 2.]), tensor([2., 2.], dtype=thalweg.float64))
    >>> print(tw.jit.explain(f).splitlines()[-1])
    trace 1: dtype of tensor 0 was thalweg.float32, and is thalweg.float64
    """
    compiled = getattr(function, "__func__", function)  # of a method
    if not isinstance(compiled, Compiled):
        raise TypeError(f"explain: a function made by tw.jit is wanted, got {type(function).__name__}")
    return compiled.explain()


def callback(function: Callable, *args: Any, **kwargs: Any) -> None:
    """Calls `function(*args, **kwargs)` after each run of the compiled function around it; it is `tw.jit.callback`.

    Args:
        args, kwargs: as `function` takes them; tensors in them come with the values they have in that run, detached.

    Callbacks run in order, after all that the run writes is written, and before the call returns. What one of them
    raises comes out of the call. Those of an asynchronous function run on a thread of their own while later steps run;
    what they raise is raised by whoever waits or calls next, and those after it do not run. Outside a compiled
    function, `function` is called at once.

    >>> import thalweg as tw
    >>> seen = []
    >>> @tw.jit
    ... def f(x):
    ...     tw.jit.callback(lambda total: seen.append(total.item()), x.sum())
    ...     return x * 2
    >>> _ = f(tw.ones(2)), f(tw.zeros(2))
    >>> seen
    [2.0, 0.0]
    """
    trace = tracing.current
    if trace is None:
        function(*args, **kwargs)
    else:
        trace.add_callback(function, args, kwargs)


def debug_print(text: str, *args: Any, **kwargs: Any) -> None:
    """Prints `text.format(*args, **kwargs)` after each run of the compiled function around it.

    It is `tw.jit.debug_print`; see `tw.jit.callback`.

    >>> import thalweg as tw
    >>> f = tw.jit(lambda x: tw.jit.debug_print("total {:.1f}", x.sum()))
    >>> f(tw.ones(2))
    total 2.0
    """
    callback(_print_formatted, text, *args, **kwargs)


def _print_formatted(text: str, /, *args: Any, **kwargs: Any) -> None:
    print(text.format(*args, **kwargs))


jit.explain = explain  # type: ignore[attr-defined]
jit.prefetch = prefetch  # type: ignore[attr-defined]
jit.max_iterations = max_iterations  # type: ignore[attr-defined]
jit.callback = callback  # type: ignore[attr-defined]
jit.debug_print = debug_print  # type: ignore[attr-defined]
