"""One trace of a function: what its Python part reads from the outside and changes there."""

from __future__ import annotations

import math
import re
from typing import Any

from thalweg._core import _native
from thalweg.jit import context
from thalweg.jit.numbers import Number

__all__ = ["Trace"]


class Trace:
    """Records a call of a function; as a context manager, on this thread.

    Numbers that a program gets anew in every call come from *places*, (container, key) pairs such as a group of an
    optimizer and "lr". What else it reads there is guarded.
    """

    def __init__(self, name: str) -> None:
        self.tracer = _native.Tracer()
        self.tracer.set_name(name)
        self.places: list[tuple[Any, Any]] = []  # number i is container[key]
        self.place_names: list[str] = []
        self.guards: dict[str, Any] = {}  # source of a condition on the numbers → its outcome
        self.same: list[tuple[Any, Any, Any]] = []  # (container, key, value): must stay equal
        self.modules: dict[int, tuple[Any, bool]] = {}  # id → (module, its mode)
        self.updates: list[tuple[Any, Any, str]] = []  # container[key] = source, after every run
        self.deferred: list[Any] = []  # called after every run
        self._graph_numbers: dict[str, int] = {}  # source → number of the graph
        self.made_state = False  # the call made entries that later ones find: it is like no other
        self._optimizers: list[tuple] = []  # (optimizer, its state, its groups, the state's keys)
        self._filled: list[int] = []  # of each: how many parameters had a state when the trace began
        self._entries: list[int] = []  # and how many entries there were when it ended
        self._lifted: list[tuple[Any, dict]] = []  # (container, what it held)
        self._own_text: dict[tuple[int, Any], str] = {}  # (id of container, key) → source of the number there
        self._names: dict[int, str] = {}  # paths of modules
        self._path: list[str] = []

    def __enter__(self) -> Trace:
        self.tracer.start()
        context.current = self
        return self

    def __exit__(self, *failure: object) -> None:
        context.current = None
        self.tracer.stop()
        self._restore_numbers()

    # ---- numbers

    def lift(self, container: dict, name: str) -> None:
        """Makes the numbers in `container` those of the program, until the trace ends; guards its other values."""
        if any(known is container for known, _ in self._lifted):
            return
        self._lifted.append((container, dict(container)))
        for key, value in container.items():
            if type(value) in (int, float):
                container[key] = self._new_number(container, key, value, f"{name}[{key!r}]")
            elif type(value) in (bool, str, type(None), tuple):
                self.same.append((container, key, value))

    def lift_optimizer(self, optimizer: Any) -> None:
        """Lifts the options and the state of an optimizer, and guards that it keeps them where they are."""
        if any(known is optimizer for known, *_ in self._optimizers):
            return
        self._optimizers.append((optimizer, optimizer.state, optimizer.param_groups, set(optimizer.state)))
        self._filled.append(_filled(optimizer.state))
        name = type(optimizer).__name__
        for i, group in enumerate(optimizer.param_groups):
            self.lift(group, f"{name}.param_groups[{i}]")
        for i, state in enumerate(optimizer.state.values()):
            self.lift(state, f"{name}.state[{i}]")

    def _new_number(self, container: Any, key: Any, value: float, name: str) -> Number:
        text = f"r[{len(self.places)}]"
        self._own_text[id(container), key] = text
        self.places.append((container, key))
        self.place_names.append(name)
        return Number(self, text, value)

    def number_in_graph(self, number: Number) -> int:
        """The number that stands for an expression in the graph."""
        if context.current is not self:
            raise RuntimeError(f"the number {number} of a traced function is used after its trace has ended")
        if number.text not in self._graph_numbers:
            self._graph_numbers[number.text] = self.tracer.add_number(self.describe(number.text))
        return self._graph_numbers[number.text]

    def describe(self, text: str) -> str:
        return re.sub(r"\br\[(\d+)\]", lambda match: self.place_names[int(match[1])], text)

    def guard(self, source: str, outcome: Any) -> None:
        """The trace holds while `source` gives `outcome`."""
        self.guards[source] = outcome

    def _restore_numbers(self) -> None:
        # Empty entries come for parameters that need no state.
        self.made_state = any(
            _filled(state) != filled for (_, state, *_), filled in zip(self._optimizers, self._filled)
        )
        self._entries = [len(state) for _, state, *_ in self._optimizers]
        lifted = {id(container) for container, _ in self._lifted}
        for _, states, _, _ in self._optimizers:
            self._lifted += [(state, {}) for state in states.values() if id(state) not in lifted]
        for container, before in self._lifted:
            self.made_state |= len(container) != len(before)
            for key, value in list(container.items()):
                if not isinstance(value, Number):
                    continue
                if value.text != self._own_text.get((id(container), key)):
                    self.updates.append((container, key, value.text))
                container[key] = before[key] if key in before else value.value
        self._lifted.clear()

    def compile_numbers(self) -> tuple[Any, Any, Any]:
        """Functions of the numbers read: those of the graph, the outcomes of the guards, the updates."""
        scope = {"math": math}
        sources = (list(self._graph_numbers), list(self.guards), [source for _, _, source in self.updates])
        return tuple(eval(f"lambda r: [{', '.join(texts)}]", scope) for texts in sources)  # type: ignore[return-value]

    # ---- modules

    def call_module(self, module: Any, call: Any, args: tuple, kwargs: dict) -> Any:
        """Runs a module's call under its path."""
        self.modules.setdefault(id(module), (module, module.training))
        if id(module) not in self._names:
            prefix = type(module).__name__
            for path, child in module.named_modules():
                self._names.setdefault(id(child), f"{prefix}.{path}" if path else prefix)
        self._path.append(self._names[id(module)])
        self.tracer.module = self._path[-1]
        try:
            return call(*args, **kwargs)
        finally:
            self._path.pop()
            self.tracer.module = self._path[-1] if self._path else ""

    def holds(self) -> bool:
        """Whether what the trace read, numbers apart, is as it was."""
        return (
            all(container.get(key, self) == value for container, key, value in self.same)
            and all(module.training == training for module, training in self.modules.values())
            and all(
                _keeps(o, state, groups, entries)
                for (o, state, groups, _), entries in zip(self._optimizers, self._entries)
            )
        )

    def what_changed(self) -> str:
        """Why the trace does not hold; empty where it does."""
        for container, key, value in self.same:
            if container.get(key, self) != value:
                return f"option {key!r} was {value!r}, and is {container.get(key)!r}"
        for module, training in self.modules.values():
            if module.training != training:
                return f"training of a {type(module).__name__} was {training}, and is {module.training}"
        for (optimizer, state, groups, _), entries in zip(self._optimizers, self._entries):
            if not _keeps(optimizer, state, groups, entries):
                return f"{type(optimizer).__name__} has other groups or other state than before"
        return ""


def _filled(state: dict) -> int:
    """How many parameters have a state."""
    return sum(1 for entry in state.values() if entry)


def _keeps(optimizer: Any, state: Any, groups: Any, entries: int) -> bool:
    """Whether an optimizer keeps its numbers where they were found."""
    return optimizer.state is state and optimizer.param_groups is groups and len(state) == entries
