"""A finished trace, as calls find it: what it serves, what it reads, what it leaves behind."""

from __future__ import annotations

import weakref
from typing import Any

from thalweg._core import _native
from thalweg.autograd import modes
from thalweg.autograd.functional import grad as autograd_grad
from thalweg.jit.numbers import Number
from thalweg.jit.trace import Trace, describe, is_simple

__all__ = ["Gradient", "Program", "record_gradient"]


# Errors of a backward that nobody may call.
_LATER = ("while_loop: its backward needs max_iterations", "backward has already run through this graph")


class Program:
    """A program made of a trace. The core reads the attributes once (see native_entry.h), checks and runs it.

    Attributes:
        structure, result: of the call and of what it returns.
        step: the graph and its plan, ready to run.
        gradient: what is differentiated outside, or None.
        places, guards, updates, same, lengths, owners, graph_numbers: see Trace.
    """

    def __init__(self, trace: Trace, structure: Any, result: Any, step: Any, gradient: Gradient | None) -> None:
        self.structure, self.result, self.step, self.gradient = structure, result, step, gradient
        self.places, self.same = trace.places, trace.same
        self.lengths, self.owners = trace.lengths, trace.owners
        self.guards, self.graph_numbers = list(trace.guards.items()), list(trace.graph_numbers)
        self.updates = [
            (container, key, _native.Structure.of_result(value, Number)) for container, key, value in trace.updates
        ]
        self.callbacks = trace.has_callbacks
        self.made_state = trace.made_state
        self.watched: list = []  # weak references to arguments; without them it is dropped
        self.has_modules = bool(trace.module_guards)
        self.host_steps = trace.host_steps
        self._phases, self._number_names = trace.phases, trace.number_names
        self._module_guards = list(trace.module_guards.values())
        self.kind = (structure.parts, structure.types, modes.state())

    def release(self) -> None:
        """Drops what the core has taken over: the cycle collector does not look into it here."""
        self.structure = self.result = None
        self.updates.clear()

    # ---- guards

    def modules_hold(self) -> bool:
        """Whether the modules are as they were."""
        return all(guard.change() is None for guard in self._module_guards)

    def what_changed(self) -> tuple[str, Any, Any, Any]:
        """Why the program does not serve a call of its kind: (description, container, key, value now)."""
        for container, key, value in self.same:
            now = container.get(key)
            if not unchanged(value, now):
                return f"{key!r} was {_shown(value)}, and is {_shown(now)}", container, key, now
        for guard in self._module_guards:
            if change := guard.change():
                return change
        for reference, name, value in self.owners:
            owner = reference() if isinstance(reference, weakref.ref) else reference
            now = getattr(owner, name, None)
            if not unchanged(value, now):
                return f"{name} of a {type(owner).__name__} is another than before", None, None, None
        for container, length in self.lengths:
            if len(container) != length:
                return "an optimizer has other groups or other state than before", None, None, None
        return self._numbers_changed(), None, None, None

    def _numbers_changed(self) -> str:
        if not self.step.valid():
            return "a parameter's requires_grad, whether a .grad is there, or the memory of a variable has changed"
        for (container, key), name in zip(self.places, self._number_names[-len(self.places) :] if self.places else ()):
            now = item_of(container, key)
            if type(now) not in (int, float):
                return f"{name} was a number, and is {now!r}"
        conditions = "; ".join(f"{describe(text, self._number_names)} was {was}" for text, was in self.guards)
        if conditions:
            return f"a number has changed that decides something: {conditions}"
        return "how tensors share memory has changed, or an older program was dropped from the cache"

    # ---- runs

    def begin(self) -> list:
        """Runs the host steps; returns the numbers of the places, each read when its turn is."""
        numbers: list = []
        done = 0
        for step in self.host_steps:
            step.save()
        for (container, key), phase in zip(self.places, self._phases):
            while done < phase:
                self.host_steps[done].run()
                done += 1
            numbers.append(item_of(container, key))
        for step in self.host_steps[done:]:
            step.run()
        return numbers

    def undo(self) -> None:
        """Takes back what `begin` did."""
        for step in reversed(self.host_steps):
            step.undo()


def unchanged(value: Any, now: Any) -> bool:
    """Whether a guarded value is as it was."""
    return now is value or (type(now) is type(value) and is_simple(value) and now == value)


def _shown(value: Any) -> str:
    return repr(value) if is_simple(value) else f"a {type(value).__name__}"


def item_of(container: Any, key: Any) -> Any:
    """container[key], where a key (key, index) means container[key][index]; None where there is none."""
    try:
        return container[key[0]][key[1]] if type(key) is tuple else container[key]
    except (KeyError, IndexError, TypeError):
        return None


class Gradient:
    """Which results of a function are differentiated outside, and by what."""

    def __init__(self, results: list[int], arguments: list[int], variables: list, grads: list) -> None:
        self.results, self.arguments, self.variables, self.grads = results, arguments, variables, grads
        self.refusal = ""  # why there are no gradients: what backward raises


def record_gradient(tracer: Any, arguments: list, results: list) -> Gradient | None:
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
    try:
        grads = autograd_grad([results[i] for i in roots], leaves, seeds, allow_unused=True)
    except RuntimeError as error:
        if not any(text in str(error) for text in _LATER):
            raise
        gradient = Gradient(roots, wanted, variables, [None] * len(leaves))
        gradient.refusal = str(error)
        return gradient
    return Gradient(roots, wanted, variables, list(grads))
