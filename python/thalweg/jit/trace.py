"""One trace of a function: what its Python part reads from the outside and changes there."""

from __future__ import annotations

import contextlib
import functools
import re
import weakref
from collections.abc import Callable, Collection, Iterator
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.jit.context import tracing
from thalweg.jit.convert.calls import converted
from thalweg.jit.host import Draw, Hooks, HostStep, ScheduleStep, Source, parts_of
from thalweg.jit.modules import ModuleGuard
from thalweg.jit.numbers import Number

__all__ = ["Trace"]

_STATEFUL = ("named_modules", "add_param_group", "get_last_lr")  # methods of modules, optimizers, schedules
SIMPLE = (bool, int, float, str, type(None))


class Trace:
    """Records a call of a function; as a context manager, on this thread.

    Numbers that a program gets anew in every call come from its arguments and from *places*, (container, key) pairs
    such as a group of an optimizer and "lr". What else it reads there is guarded.

    Args:
        name: of the function.
        arguments: its arguments that are numbers.
        varying: (id of container, key) pairs of other values that are known to change: places too, if they are numbers.
    """

    def __init__(self, name: str, arguments: list | tuple = (), varying: Collection[tuple[int, Any]] = ()) -> None:
        self.tracer = _native.Tracer()
        self.tracer.set_name(name)
        self.numbers = [Number(self, f"r[{i}]", value) for i, value in enumerate(arguments)]
        self.number_names = [f"number {i} of the arguments" for i in range(len(arguments))]  # of r
        self.places: list[tuple[Any, Any]] = []  # behind the arguments, r is container[key]
        self.phases: list[int] = []  # of each place: how many host steps come before it is read
        self.host_steps: list[HostStep] = []  # run before the program, in every call
        self.guards: dict[str, Any] = {}  # source of a condition on the numbers → its outcome
        self.same: list[tuple[Any, Any, Any]] = []  # (container, key, value): must stay equal
        self.lengths: list[tuple[Any, int]] = []  # (container, its length)
        self.owners: list[tuple[Any, str, Any]] = []  # (weak reference to an object, attribute, its value)
        self.module_guards: dict[int, ModuleGuard] = {}  # by id
        self.updates: list[tuple[Any, Any, Any]] = []  # container[key] = value made of numbers, after every run
        self.callbacks: list[tuple[Callable, tuple, dict]] = []  # called after every run
        self.has_callbacks = False  # set when the trace has ended
        self.asynchronous = False  # whether calls return before the program has run
        self.graph_numbers: dict[str, int] = {}  # source → number of the graph
        self.made_state = False  # the call made entries that later ones find: it is like no other
        self._varying = varying
        self._optimizers: list[tuple] = []  # (optimizer, its state, the state's keys, how many were filled)
        self._lifted: list[tuple[Any, dict]] = []  # (container, what it held)
        self._own_text: dict[tuple[int, Any], str] = {}  # (id of container, key) → source of the number there
        self._scalers: list[Any] = []
        self._names: dict[int, str] = {}  # paths of modules
        self._path: list[str] = []

    def __enter__(self) -> Trace:
        self.tracer.start()
        tracing.begin(self)
        self._hooks = Hooks(self, lambda: tracing.current is self)
        return self

    def __exit__(self, kind: Any, *failure: object) -> None:
        tracing.end()
        self.tracer.stop()
        self._hooks.check()
        self._hooks.restore()
        self._restore_numbers()
        for step in reversed(self.host_steps):
            step.undo()
        if kind is not None or self._hooks.past:
            self.abandon()
        self._check_scalers(kind is not None)
        if kind is None and self._hooks.past:
            raise NotImplementedError(
                f"{self._hooks.past}: a traced function draws in a way that its trace does not see, so that every call "
                "would use the same numbers: by a function imported by itself in another module, or by an object that "
                "the function's own code does not name. Call it by its module (random.random()), or draw outside"
            )

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Python code inside runs for real."""
        self._hooks.check()
        tracing.end()
        self.tracer.stop()
        try:
            yield
        finally:
            self._hooks.settle()
            self.tracer.start()
            tracing.begin(self)

    def abandon(self) -> None:
        """Puts back what the traced function has changed outside: the call never was."""
        self.tracer.restore_grads()
        for _, states, keys, _ in self._optimizers:
            for key in [key for key in states if key not in keys]:
                del states[key]
        for guard in self.module_guards.values():
            guard.restore()

    # ---- numbers

    def lift(self, container: dict, name: str) -> None:
        """Makes the numbers in `container` those of the program, until the trace ends; guards its other values."""
        if not self._begin_lifting(container):
            return
        self._lift_items(container, name)

    def _lift_items(self, container: dict, name: str) -> None:
        for key, value in list(container.items()):
            if type(value) in (int, float):
                container[key] = self.new_number(container, key, value, f"{name}[{key!r}]")
            elif type(value) is tuple and value and all(type(item) in (int, float) for item in value):
                self._lift_sequence(container, key, value, name)
            elif is_simple(value) and not self.host_steps:
                self.same.append((container, key, value))

    def _lift_sequence(self, container: dict, key: Any, values: Any, name: str) -> None:
        """Makes the items of the tuple or list container[key] numbers of the program."""
        numbers = [
            self.new_number(container, (key, i), value, f"{name}[{key!r}][{i}]") for i, value in enumerate(values)
        ]
        container[key] = type(values)(numbers)
        self._own_text[id(container), key] = _text_of(container[key])

    # ---- host steps

    def step_schedule(self, schedule: Any, step: Callable, args: tuple, kwargs: dict) -> None:
        """A schedule steps: in every call before the program runs, so that the function goes on with its rates."""
        name = type(schedule).__name__
        words = _native.Structure.of_result((args, kwargs), Number)
        if words.tensors:
            raise RuntimeError(
                f"{name}.step: in a traced function it cannot take a tensor, whose value is known only when the "
                "program has run: return the tensor, and step the schedule outside"
            )
        args = tuple(_fixed(arg) for arg in args)
        kwargs = {key: _fixed(arg) for key, arg in kwargs.items()}
        self.lift_optimizer(schedule.optimizer)
        host_step = ScheduleStep(schedule, step, args, kwargs)
        containers = [(part.__dict__, name) for part in parts_of(schedule)]
        containers += [
            (group, f"{type(schedule.optimizer).__name__}.param_groups[{i}]")
            for i, group in enumerate(schedule.optimizer.param_groups)
        ]
        for container, path in containers:
            self._put_real(container, path)
        host_step.save()
        with self.paused():
            host_step.run()
        self.host_steps.append(host_step)
        for container, path in containers:
            self._begin_lifting(container)
            self._lift_items(container, path)
        self._lift_last_rates(schedule)

    def draw(self, source: Source, function: Callable, args: tuple, kwargs: dict) -> Any:
        """What the host draws, in every call before the program runs."""
        args = tuple(_fixed(arg) for arg in args)
        kwargs = {key: _fixed(arg) for key, arg in kwargs.items()}
        first = not any(isinstance(step, Draw) and step.source is source for step in self.host_steps)
        return self.host(Draw(self, source, lambda: function(*args, **kwargs), first))

    def host(self, step: Any) -> Any:
        """What a host step gives, in every call before the program runs: numbers and arrays."""
        if self.tracer.region:
            raise NotImplementedError(
                f"{step.name}: in a branch or a loop body of a traced function nothing is drawn by the host, which "
                "would do it once, before the program runs; draw before, or use random numbers of tensors"
            )
        self.host_steps.append(step)  # at once, so that a failure takes it back
        step.save()
        with self.paused():
            step.run()
        return self._given(step.result, f"a number of {step.name}")

    def _given(self, result: Any, name: str) -> Any:
        if type(result) is list and len(result) == 1 and type(result[0]) in (int, float):
            return self.new_number(result, 0, result[0], name)
        return [self._given(item, name) for item in result] if type(result) is list else result

    def watch_generators(self, function: Any, owner: Any) -> None:
        """Sees draws by what the code of a function finds by name: in its module, its closure, and its object."""
        outside = function.__globals__
        for name, value in list(outside.items()):
            if self._hooks.look(functools.partial(outside.__setitem__, name), value):
                self.same.append((outside, name, value))
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # not bound yet
                value = cell.cell_contents
                if self._hooks.look(functools.partial(setattr, cell, "cell_contents"), value):
                    self.owners.append((cell, "cell_contents", value))
        attributes = getattr(owner, "__dict__", {})
        attributes = attributes if type(attributes) is dict else {}  # a class's cannot be replaced
        for name, value in list(attributes.items()):
            if self._hooks.look(functools.partial(attributes.__setitem__, name), value):
                self.same.append((attributes, name, value))

    def stand_in(self, argument: Any) -> Any:
        """What the traced function gets for an argument: one that draws is seen to."""
        found = [argument]
        self._hooks.look(functools.partial(found.__setitem__, 0), argument)
        return found[0]

    def lift_schedule(self, schedule: Any) -> None:
        """The function reads the rates that a schedule has set last."""
        if self._begin_lifting(schedule.__dict__):
            self._lift_items(schedule.__dict__, type(schedule).__name__)
            self._lift_last_rates(schedule)

    def _lift_last_rates(self, schedule: Any) -> None:
        rates = schedule.__dict__.get("_last_lr")
        if type(rates) is list and all(type(rate) in (int, float) for rate in rates):
            self._lift_sequence(schedule.__dict__, "_last_lr", rates, type(schedule).__name__)

    def _put_real(self, container: dict, name: str) -> None:
        """Real numbers where those of the program stand, which must be as they were read."""
        for key, value in list(container.items()):
            own = self._own_text.get((id(container), key))
            if own is None:
                continue
            if _text_of(value) != own:
                raise RuntimeError(
                    f"{name}[{key!r}] is changed in a traced function before a schedule steps there, which needs to "
                    "know it before the program runs"
                )
            container[key] = _fixed_value(value)

    # ---- scaled losses

    def lift_scaler(self, scaler: Any) -> None:
        """Makes the numbers of a GradScaler those of the program."""
        if not any(known is scaler for known in self._scalers):
            self._scalers.append(scaler)
            self.lift(scaler.__dict__, type(scaler).__name__)

    def step_unless(self, found: Any, optimizer: Any, kwargs: dict) -> Any:
        """Steps an optimizer, of which nothing is to be seen after runs in which `found`, a bool tensor, is true."""
        self.lift_optimizer(optimizer)
        state, known = optimizer.state, set(optimizer.state)
        containers = [*optimizer.param_groups, *state.values()]
        before = [(container, dict(container)) for container in containers]
        self.tracer.mark()
        result = optimizer.step(**kwargs)
        self.tracer.keep_where(found)
        changed = [
            (container, key, value)
            for container, values in before
            for key, value in values.items()
            if _text_of(value) != _text_of(container[key])
        ]
        made = [key for key in state if key not in known]

        places = [(container, key) for container, key, _ in changed]

        def take_back(found: Any, values: list) -> None:
            if not found.item():
                return
            for (container, key), value in zip(places, values):
                container[key] = value
            for key in made:
                del state[key]

        self.add_callback(take_back, (found, [value for _, _, value in changed]), {})
        return result

    def _check_scalers(self, failed: bool) -> None:
        for scaler in self._scalers:
            if scaler.forget_step() and not failed:
                raise RuntimeError(
                    f"{type(scaler).__name__}: a traced function that unscales gradients must step and update, too"
                )

    def watch(self, container: dict, name: str, keys: Any = None) -> None:
        """Guards the simple values in `container`, or those under `keys`; numbers that vary are the program's."""
        for key in list(container) if keys is None else keys:
            value = container[key]
            if not (is_simple(value) or counts_by_identity(value)):
                continue
            if type(value) in (int, float) and self._varies(container, key):
                self.lift_item(container, key, name)
            else:
                self.same.append((container, key, value))

    def meet(self, item: Any) -> None:
        """Guards and lifts what the function may read of a module, an optimizer or a schedule that it finds outside."""
        for name, meet in zip(_STATEFUL, (self.add_module, self.lift_optimizer, self.lift_schedule)):
            if hasattr(type(item), name):
                meet(item)

    def watch_cell(self, cell: Any, name: str) -> list:
        """Guards the value of a variable of a function around the traced one; returns a list of the value."""
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            return []
        if is_simple(value) or counts_by_identity(value):
            self.owners.append((cell, "cell_contents", value))
        return [value]

    def add_callback(self, function: Callable, args: tuple, kwargs: dict) -> None:
        """Has `function` called after every run."""
        structure = _native.Structure.of_result((args, kwargs), Number)
        tensors = [tensor.detach() for tensor in structure.tensors]
        if self.asynchronous:  # later steps may have written to variables and arguments when it is called
            tensors = [tensor.clone() for tensor in tensors]
        self.callbacks.append((function, *structure.build(tensors)))

    def lift_item(self, container: dict, key: Any, name: str) -> None:
        """Makes the number container[key] one of the program."""
        self._begin_lifting(container)
        if (id(container), key) not in self._own_text:
            container[key] = self.new_number(container, key, container[key], f"{name}[{key!r}]")

    def _begin_lifting(self, container: dict) -> bool:
        if any(known is container for known, _ in self._lifted):
            return False
        self._lifted.append((container, dict(container)))
        return True

    def _varies(self, container: Any, key: Any) -> bool:
        return (id(container), key) in self._varying

    def lift_optimizer(self, optimizer: Any) -> None:
        """Lifts the options and the state of an optimizer, and guards that it keeps them where they are."""
        if any(known is optimizer for known, *_ in self._optimizers):
            return
        state, groups = optimizer.state, optimizer.param_groups
        self._optimizers.append((optimizer, state, set(state), _filled(state)))
        self.owners += [(weakref.ref(optimizer), "state", state), (weakref.ref(optimizer), "param_groups", groups)]
        self.lengths += [(groups, len(groups)), *((group["params"], len(group["params"])) for group in groups)]
        name = type(optimizer).__name__
        for i, group in enumerate(groups):
            self.lift(group, f"{name}.param_groups[{i}]")
        for i, entry in enumerate(state.values()):
            self.lift(entry, f"{name}.state[{i}]")

    def new_number(self, container: Any, key: Any, value: float, name: str) -> Number:
        """The program's number container[key], as it is after the host steps so far; key may be (key, index)."""
        text = f"r[{len(self.number_names)}]"
        self._own_text[id(container), key] = text
        self.places.append((container, key))
        self.phases.append(len(self.host_steps))
        self.number_names.append(name)
        return Number(self, text, value)

    def number_in_graph(self, number: Number) -> int:
        """The number that stands for an expression in the graph."""
        if tracing.current is not self:
            raise RuntimeError(f"the number {number} of a traced function is used after its trace has ended")
        if number.text not in self.graph_numbers:
            self.graph_numbers[number.text] = self.tracer.add_number(self.describe(number.text))
        return self.graph_numbers[number.text]

    def describe(self, text: str) -> str:
        """A formula in words."""
        return describe(text, self.number_names)

    def guard(self, source: str, outcome: Any) -> None:
        """The trace holds while `source` gives `outcome`."""
        self.guards[source] = outcome

    def _restore_numbers(self) -> None:
        # Empty entries come for parameters that need no state.
        self.made_state = any(_filled(state) != filled for _, state, _, filled in self._optimizers)
        self.lengths += [(state, len(state)) for _, state, _, _ in self._optimizers]
        lifted = {id(container) for container, _ in self._lifted}
        for _, states, _, _ in self._optimizers:
            self._lifted += [(state, {}) for state in states.values() if id(state) not in lifted]
        for container, before in self._lifted:
            self.made_state |= len(container) != len(before)
            for key, value in list(container.items()):
                own = self._own_text.get((id(container), key))
                text = _text_of(value)
                if own is None and text is None:
                    continue
                if text != own:
                    self.updates.append((container, key, value))
                container[key] = before[key] if key in before else _fixed_value(value)
        self._lifted.clear()

    # ---- modules

    converted = staticmethod(converted)

    def call_module(self, module: Any, call: Any, args: tuple, kwargs: dict) -> Any:
        """Runs a module's call under its path."""
        if id(module) not in self._names:
            self.add_module(module)
            prefix = type(module).__name__
            for path, child in module.named_modules():
                self._names.setdefault(id(child), f"{prefix}.{path}" if path else prefix)
        self._path.append(self._names[id(module)])
        self.tracer.module = self._path[-1]
        try:
            call = module._call_traced
            around = module.__dict__.get("_around_call")  # see nn.graph.GraphModule
            return around(call, *args, **kwargs) if around else call(*args, **kwargs)
        finally:
            self._path.pop()
            self.tracer.module = self._path[-1] if self._path else ""

    def add_module(self, module: Any) -> None:
        """Guards the attributes of a module and of those below it; numbers that vary are the program's."""
        prefix = type(module).__name__
        for path, child in module.named_modules():
            name = f"{prefix}.{path}" if path else prefix
            if id(child) in self.module_guards:
                continue
            attributes = child.__dict__
            varying = [key for key in attributes if (id(attributes), key) in self._varying]
            self.module_guards[id(child)] = ModuleGuard(child, name, skip=varying)
            for key in varying:
                if type(attributes[key]) in (int, float):
                    self.lift_item(attributes, key, name)

    @property
    def modules(self) -> dict[int, tuple[Any, str]]:
        """All modules that the function called, and those below them: id → (module, path)."""
        return {key: (guard.module, guard.name) for key, guard in self.module_guards.items() if guard.module}


def is_simple(value: Any) -> bool:
    """Whether a value can be compared in every call."""
    return type(value) in SIMPLE or (type(value) is tuple and all(is_simple(item) for item in value))


def counts_by_identity(value: Any) -> bool:
    """Whether another one in its place, however alike, would make another program."""
    return isinstance(value, Tensor) or any(hasattr(type(value), name) for name in (*_STATEFUL, "manual_seed"))


def _text_of(value: Any) -> Any:
    """The formula of a number, those of a tuple or list of numbers; None for anything else."""
    if type(value) is Number:
        return value.text
    if type(value) in (tuple, list) and any(type(item) is Number for item in value):
        return tuple(item.text if type(item) is Number else repr(item) for item in value)
    return None


def _fixed_value(value: Any) -> Any:
    """What a number, or a tuple or list of numbers, was when it was traced."""
    if type(value) in (tuple, list):
        return type(value)(_fixed_value(item) for item in value)
    return value.value if type(value) is Number else value


def _fixed(value: Any) -> Any:
    """The value of a number, which is guarded then; anything else as it is."""
    return value._fixed() if type(value) is Number else value


def describe(text: str, names: list[str]) -> str:
    """A formula with names for the numbers that it reads."""
    return re.sub(r"\br\[(\d+)\]", lambda match: names[int(match[1])], text)


def _filled(state: dict) -> int:
    """How many parameters have a state."""
    return sum(1 for entry in state.values() if entry)
