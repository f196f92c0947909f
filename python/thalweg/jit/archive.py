"""Saved graphs: a traced call in a file, which runs without the Python code that it was traced from."""

from __future__ import annotations

import gc
import inspect
import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.autograd.modes import set_grad_enabled
from thalweg.distributed.checkpoint.processes import Processes
from thalweg.frontend.device import Device, name_of
from thalweg.frontend.placement import placement
from thalweg.io.files import replacing
from thalweg.jit.context import tracing
from thalweg.jit.convert.calls import converted
from thalweg.jit.function import Compiled
from thalweg.jit.numbers import Number, repr_number
from thalweg.jit.program import item_of
from thalweg.jit.sizes import Varying
from thalweg.jit.structure import decode, encode, replace_tensors
from thalweg.jit.trace import Trace

__all__ = ["LoadedGraph", "load_graph", "save_graph"]


def save_graph(
    path: str | os.PathLike,
    function: Callable,
    *example_args: Any,
    dynamic_shapes: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> None:
    """Traces a call and saves its graph with all tensors it reads; the file appears, or is replaced, in one step.

    Args:
        path: of the file, a safetensors file whose metadata hold the graph.
        function: a module, a function, one made by `tw.jit`, or an `nn.Graph`, whose schedules are left out. It is
            traced without gradients, unless it enables them, as an `nn.Graph` with an optimizer does.
        example_args, kwargs: arguments of the call. Its tensors become the inputs of the graph, in their order, with
            their dtypes and shapes; other values become constants.
        dynamic_shapes: {name of an input: {dim: size}} or {name: (size, ..)}, where a size is a `tw.Dim`, the name of
            one without bounds, or, in the second form, None for a dim that stays: sizes that calls of the loaded graph
            may choose. The call is then traced several times, at other sizes too, and how its graph depends on them is
            found from that; Python code that branches on a size must do the same for all of them.

    Tensors that the call finds outside are saved with their values; those it writes to (running statistics, counters)
    go on from there in each loaded graph. Numbers of optimizers (learning rates) become arguments by name.

    Global tensors are saved whole, with how they lie; all processes call it together, and the first writes the file.

    Raises: ValueError where the call leaves behind tensors or gradients that were not there before (call a training
        step once before it is saved), or depends on sizes in a way that is not known, TypeError for results other
        than tensors, numbers, strings, None, and lists, tuples and dicts of them.

    >>> import tempfile
    >>> import thalweg as tw
    >>> path = tempfile.mkdtemp() + "/model.tw"
    >>> tw.save_graph(path, lambda x, y: {"sum": x + y, "both": [x, y]}, tw.ones(2), tw.zeros(2))
    >>> tw.load_graph(path)(tw.tensor([1.0, 2.0]), y=tw.tensor([3.0, 4.0]))
    {'sum': tensor([4., 6.]), 'both': [tensor([1., 2.]), tensor([3., 4.])]}

    >>> tw.save_graph(path, tw.nn.Linear(3, 2), tw.ones(4, 3), dynamic_shapes={"input": {0: tw.Dim("batch", max=64)}})
    >>> graph = tw.load_graph(path)
    >>> graph.inputs, graph(tw.ones(7, 3)).shape
    ({'input': (thalweg.float32, ('batch', 3))}, thalweg.Size([7, 2]))
    """
    if tracing.current is not None:
        raise RuntimeError("save_graph: a function is being traced already")
    varying = Varying(dynamic_shapes)
    if not varying.dims:
        _Traced(function, example_args, kwargs, varying, {}).save(path, [], [], [])
        return
    _Traced(function, example_args, kwargs, varying, {})  # tells what the inputs are
    first, *others = [_traced_at(function, example_args, kwargs, varying, sizes) for sizes in varying.fitted()]
    checks = [_traced_at(function, example_args, kwargs, varying, sizes) for sizes in varying.checked()]
    for other in [*others, *checks]:
        first.check_same(other)
    first.save(path, varying.symbols(), others, checks)


def _traced_at(function: Any, args: tuple, kwargs: dict, varying: Varying, sizes: dict[str, int]) -> _Traced:
    try:
        return _Traced(function, args, kwargs, varying, sizes)
    except Exception as error:
        at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        raise ValueError(f"save_graph: the call fails for {at}: {error}") from error


class _Traced:
    """A finished trace of a call that is to be saved, at the given sizes."""

    def __init__(self, function: Any, args: tuple, kwargs: dict, varying: Varying, sizes: dict[str, int]) -> None:
        self.trace, self.sizes = Trace(_name_of(function)), sizes
        self.names: list[str] = []
        try:
            self.structure, self.places = _trace(self.trace, function, args, kwargs, self.names, varying, sizes)
        except BaseException:
            self.trace.abandon()
            raise
        if _native.trace_keeps_tensors(self.trace.tracer):
            gc.collect()  # what only cycles keep is not kept
        for i, name in _variable_names(self.trace, function).items():
            self.trace.tracer.name_variable(i, name)
        self.numbers = _numbers(self.trace)
        self.is_global = _native.trace_is_global(self.trace.tracer)

    def check_same(self, other: _Traced) -> None:
        """Raises ValueError unless the other trace, at other sizes, reads the same numbers and nests results alike."""
        if (self.structure, self.names, self.numbers) != (other.structure, other.names, other.numbers):
            raise ValueError(
                f"save_graph: results or numbers of the call are others for {self.sizes} than for {other.sizes}"
            )

    def save(self, path: str | os.PathLike, symbols: list, others: list[_Traced], checks: list[_Traced]) -> None:
        """Writes the file; with symbols, `others` tell how the graph depends on them."""
        numbers, structure = json.dumps(self.numbers), json.dumps(self.structure)
        sized = [[(t.trace.tracer, list(t.sizes.values())) for t in traces] for traces in (others, checks)]
        values = list(self.sizes.values())
        places = self.places if any(self.places) else []

        def write(file: str) -> None:
            _native.save_archive(
                file, self.trace.tracer, numbers, structure, self.names, symbols, values, *sized, places
            )

        def write_together() -> None:
            if processes.number:
                write("")  # gives its parts
                return
            with replacing(path) as file:
                write(file)

        if self.is_global:
            if symbols:
                raise NotImplementedError(
                    "save_graph: the call works on global tensors, whose sizes cannot differ in a saved graph; save it "
                    "without dynamic_shapes"
                )
            processes = Processes()
            processes.together(write_together, "save_graph")
        else:
            with replacing(path) as file:
                write(file)


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _trace(
    trace: Trace, function: Any, args: tuple, kwargs: dict, names: list[str], varying: Varying, sizes: dict[str, int]
) -> Any:
    """Records the call, at other sizes where some are given; returns how its results nest and where they lie, and
    appends their names."""
    taken: dict[str, int] = {}
    shapes: dict[str, tuple[int, ...]] = {}

    def add_input(name: str, tensor: Tensor) -> Tensor:
        taken[name] = taken.get(name, 0) + 1
        name = name if taken[name] == 1 else f"{name}.{taken[name]}"
        shapes[name] = tensor.shape
        if sizes:
            tensor = tensor.new_empty(varying.resized(name, tensor.shape, sizes))
        return trace.tracer.add_input(name, tensor if tensor.is_contiguous() else tensor.contiguous())

    words = _argument_names(function, args)
    args = tuple(replace_tensors(arg, word, add_input) for arg, word in zip(args, words))
    kwargs = {word: replace_tensors(arg, word, add_input) for word, arg in kwargs.items()}
    if not sizes:
        varying.see(shapes)
    results: list[Tensor] = []
    call, trains = function, False
    if isinstance(getattr(function, "_compiled", None), Compiled):  # an nn.Graph
        call, trains = function._compiled, function.training
    with trace, set_grad_enabled(trains):
        structure = encode(converted(call)(*args, **kwargs), "", results, names)
    if trace.host_steps:
        raise ValueError(
            "save_graph: the call steps a schedule or draws numbers in Python: leave that out of the function"
        )
    if trace.callbacks:
        raise ValueError("save_graph: the call has callbacks, which Python runs: leave them out of the function")
    if trace.made_state:
        raise ValueError("save_graph: the call makes new state, as the first step of an optimizer does: call it before")
    for i, name in enumerate(taken):
        if trace.tracer.input_written(i):
            raise NotImplementedError(f"save_graph: the call writes to its argument {name!r} in place")
    _native.finish_trace(trace.tracer, results)
    return structure, _native.places_of(results)


def _argument_names(function: Any, args: tuple) -> list[str]:
    """A name for each positional argument: that of the parameter, where it can be told."""
    called = getattr(function, "forward", None) or getattr(function, "build", None) or function
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    words = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "argument")
    return words[: len(args)] + [f"{rest}.{i}" for i in range(len(args) - len(words))]


def _variable_names(trace: Trace, function: Any) -> dict[int, str]:
    """Names for the variables of the graph that are parameters and buffers of modules."""
    known: dict[int, str] = {}
    for module, _ in trace.modules.values():
        prefix = "" if module is function else type(module).__name__ + "."
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            known.setdefault(id(tensor), prefix + name)
    variables = trace.tracer.variables
    return {i: known[id(tensor)] for i, tensor in enumerate(variables) if id(tensor) in known}


def _numbers(trace: Trace) -> dict[str, list]:
    """The numbers that the graph reads, their values now, and the formulas over them."""
    keys = [key for _, key in trace.places]
    plain = [type(key) is str and keys.count(key) == 1 for key in keys]
    numbers = {(id(container), key): i for i, (container, key) in enumerate(trace.places)}
    return {
        "names": [key if alone else name for key, name, alone in zip(keys, trace.number_names, plain)],
        "values": [repr_number(item_of(container, key)) for container, key in trace.places],
        "graph": list(trace.graph_numbers),
        "guards": [[source, repr_number(outcome)] for source, outcome in trace.guards.items()],
        "updates": [
            [numbers[id(container), place], text]
            for container, key, value in trace.updates
            for place, text in _texts(key, value)
        ],
    }


def _texts(key: Any, value: Any) -> list[tuple[Any, str]]:
    """The places and formulas of a number, or of the items of a tuple or list of numbers."""
    if isinstance(value, (tuple, list)):
        return [pair for i, item in enumerate(value) for pair in _texts((key, i), item)]
    return [(key, value.text if type(value) is Number else repr_number(value))]


class LoadedGraph:
    """A saved graph that runs again; made by `tw.load_graph`.

    Call it with tensors in the order of `inputs`, or by name, and with numbers by name, which count for this call.
    Returns the results as the saved function nests them. May be called from several threads; calls run one by one.

    Attributes:
        inputs: {name: (dtype, shape)} of the tensors to call it with; a size that may differ has its name there.
        variables: {name: tensor}, its parameters and its state: live, to be read and written.
    """

    def __init__(self, path: str, where: placement | None = None, device: str = "cpu") -> None:
        self._path = path
        lies = (None, [], []) if where is None else (where.type, list(where.ranks.shape), where.ranks.ravel().tolist())
        self._program = _native.LoadedProgram(path, *lies, device)
        names, types = self._program.input_names, self._program.input_types
        self.inputs = {name: (dtype, tuple(shape)) for name, (dtype, shape) in zip(names, types)}
        self.variables = self._program.variables
        self._lock = threading.Lock()
        try:
            self._results = json.loads(self._program.results)
            decode(self._results, self._program.result_names)
        except (RecursionError, ValueError, TypeError, KeyError) as error:
            raise ValueError(f"load_graph: {path}: its results: {error}") from error

    @property
    def numbers(self) -> dict[str, float]:
        """Numbers that it reads, by name, as they are now."""
        return self._program.numbers

    def __call__(self, *tensors: Tensor, **named: Any) -> Any:
        given = dict(zip(self.inputs, tensors))
        if len(given) < len(tensors):
            raise TypeError(f"{self._path}: {len(self.inputs)} inputs are wanted, got {len(tensors)}")
        numbers: dict[str, float] = {}
        for name, value in named.items():
            if name in given or not (name in self.inputs or name in self.numbers):
                raise TypeError(f"{self._path}: argument {name!r} is {'given twice' if name in given else 'unknown'}")
            (given if name in self.inputs else numbers)[name] = value
        for name in self.inputs:
            if not isinstance(given.get(name), Tensor):
                got = type(given[name]).__name__ if name in given else "nothing"
                raise TypeError(f"{self._path}: input {name!r} must be a tensor, got {got}")
        for name, value in numbers.items():
            if type(value) not in (int, float):
                raise TypeError(f"{self._path}: {name!r} must be a number, got {type(value).__name__}")
        inputs = [given[name].detach().contiguous() for name in self.inputs]
        with self._lock:
            results = self._program.run(inputs, numbers)
        return decode(self._results, results)

    def graph_text(self) -> str:
        """The graph as text, after simplification."""
        return self._program.graph_text()


def load_graph(path: str | os.PathLike, placement: placement | None = None, device: Device = None) -> LoadedGraph:
    """Loads a graph saved by `tw.save_graph`; the Python code of its model is not needed.

    Args:
        path: of the file.
        placement: of as many ranks as the saved graph's global tensors lie on, which they lie on then: that of its
            first tensor in the same order. None: where they were saved.
        device: where the graph is to run, wherever it was traced, and its variables and results lie; None: the CPU.

    Returns: a LoadedGraph, to be called with the graph's inputs. Each load has its own variables.

    Raises: FileNotFoundError, ValueError for a file of another kind or version, or one that is damaged, and
        PlacementError where the job lacks the ranks, or their number is another one; DeviceError where there is no such
        device.

    >>> import tempfile
    >>> import thalweg as tw
    >>> path = tempfile.mkdtemp() + "/model.tw"
    >>> tw.save_graph(path, lambda x: x.relu(), tw.zeros(3))
    >>> graph = tw.load_graph(path)
    >>> graph.inputs
    {'x': (thalweg.float32, (3,))}
    >>> graph(tw.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    path, where = os.fspath(path), name_of(device, "load_graph")
    if placement is not None and where != "cpu":
        raise ValueError(f"load_graph: global tensors lie on a placement or nowhere, got device={where!r} as well")
    with open(path, "rb"):  # the interpreter says best why a file cannot be opened
        pass
    return LoadedGraph(path, placement, where)
