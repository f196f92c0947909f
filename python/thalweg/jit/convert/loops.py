"""Loops that tensors decide on: the body is recorded once, and carries the names that it assigns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg import _registry
from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.jit.context import bound, tracing
from thalweg.jit.convert.branches import Containers, Nothing
from thalweg.jit.convert.places import Place, Undefined
from thalweg.jit.regions import Again, Carried, Gradients, Recording, as_tensor, beside_any, predicate
from thalweg.jit.tree import flatten, unflatten

__all__ = ["Loop", "Range"]

# Loops over so few rows are unrolled.
_FEW_ROWS = 8


class Range:
    """`range` of tensors, for a `for`."""

    def __init__(self, *bounds: Any) -> None:
        if not 1 <= len(bounds) <= 3:
            raise TypeError(f"range: one to three bounds are wanted, got {len(bounds)}")
        self.start, self.stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        self.step = bounds[2] if len(bounds) == 3 else 1

    def __iter__(self) -> Any:
        raise TypeError("range: the range of a tensor is known when the program runs; use it in a `for` of a function")

    def holds(self, i: Tensor) -> Tensor:
        """Whether a number is not behind the last one."""
        if isinstance(self.step, Tensor):
            return (self.stop - i) * self.step.sign() > 0
        return i < self.stop if self.step > 0 else i > self.stop


class _Changed(NotImplementedError):
    """The body changes a container of Python."""


_CHANGED = (
    "a list, dict or set of Python is changed in a loop that runs as often as a tensor says. Write to a tensor, of the "
    "most elements that there may be"
)


_CHANGED_IN_PLACE = (
    "a tensor that the loop goes on from, or takes rows of, is changed in place by an iteration, and the name is given "
    "another value, too. Make a new tensor instead, or change it in place only"
)


def _copies(inputs: list[Tensor], before: list) -> list[Tensor]:
    """The inputs of a body that stand for tensors, not for numbers."""
    return [tensor for tensor, old in zip(inputs, before) if isinstance(old, Tensor)]


class Loop:
    """One loop of the user's code, about to be recorded."""

    def __init__(self, kind: str, get: Callable, put: Callable, names: tuple, seen: Callable) -> None:
        self.kind, self.get, self.put, self.seen = kind, get, put, seen
        self.place = Place()
        self.before = list(get())
        self.names = [name.removesuffix("+=") for name in names]
        # Tensors that `x += ...` changes in place stay where they are.
        self._in_place = {
            i for i, name in enumerate(names) if name.endswith("+=") and isinstance(self.before[i], Tensor)
        }
        self._dtypes: dict[int, Any] = {}  # of numbers that turn out to be others than they look
        self._results: dict[int, tuple] = {}
        self._on_tape: set[int] = set()
        self._gradients = Gradients()
        self._histories: list[Tensor] = []  # of the outside, written in the body with a gradient

    def run_while(self, first: Tensor, test: Callable, body: Callable) -> None:
        def step(extra: list, _: list) -> tuple:
            body()
            return test(), []

        self._run_bounded(first, step)

    def run_range(self, bounds: Range, body: Callable, broken: Callable | None) -> None:
        with beside_any([*self.before, bounds.stop, bounds.step]):
            start = bounds.start if isinstance(bounds.start, Tensor) else as_tensor(bounds.start)

        def step(extra: list, _: list) -> tuple:
            body(extra[0])
            after = extra[0] + bounds.step
            goes_on = bounds.holds(after)
            if broken and isinstance(stop := broken(), Tensor):
                goes_on = goes_on & predicate(self.kind, stop).logical_not()
            return goes_on, [after]

        self._run_bounded(bounds.holds(start), step, [start])

    def _run_bounded(self, pred: Tensor, step: Callable, extra: Sequence = ()) -> None:
        """Where a bound is set, whether the loop would go on is carried out of it, and raises if it would."""
        most = bound.most
        if most is None:
            self._run(pred, step, extra)
            return

        def bounded(given: list, parts: list) -> tuple:
            goes_on, more = step(given[:-1], parts)
            goes_on = predicate(self.kind, goes_on) if isinstance(goes_on, Tensor) else as_tensor(bool(goes_on))
            return goes_on, [*more, goes_on]

        rest = self._run(pred, bounded, [*extra, pred], length=most)[-1]
        message = f"{self.kind}: it wants more iterations than tw.jit.max_iterations({most}) says\n  at {self.place}"
        _registry.ops.assert_none(rest, "RuntimeError", message)

    def run_rows(self, rows: Tensor, body: Callable, broken: Callable | None) -> bool:
        """Returns whether it could: else nothing has happened."""
        if len(rows) <= _FEW_ROWS:
            return False

        def step(_: list, parts: list) -> tuple:
            body(parts[0])
            stop = broken() if broken else None
            return predicate(self.kind, stop).logical_not() if isinstance(stop, Tensor) else broken and not stop, []

        try:
            self._run(as_tensor(True) if broken else None, step, slices=[rows], length=len(rows))
        except (TypeError, NotImplementedError):  # it can be unrolled
            self.put(tuple(self.before))
            return False
        return True

    def _run(self, pred: Any, step: Callable, extra: Sequence = (), slices: Sequence = (), length: int = -1) -> list:
        """Records the body until what is carried keeps its types; returns what becomes of `extra`."""
        containers = Containers(self.seen())
        while True:
            self._begin_results()
            defined = [
                i for i, value in enumerate(self.before) if not isinstance(value, Undefined) and i not in self._in_place
            ]
            names = [*(self.names[i] for i in defined), *["the counter"] * len(extra)]
            carried = Carried(self.kind, [*(self.before[i] for i in defined), *extra], names)
            carried.dtypes, carried.histories, carried.on_tape = self._dtypes, self._histories, self._on_tape
            carried.gradients = self._gradients
            tensors = carried.tensors([pred, *slices])
            try:
                with Recording("body") as region:
                    inputs, parts = carried.begin(region, slices)
                    copies = [*_copies(inputs, carried.leaves), *parts, *slices]
                    versions = [tensor._version for tensor in copies]
                    state = unflatten(carried.tree, inputs)
                    self._put_state(defined, state[: len(defined)])
                    goes_on, more = step(state[len(defined) :], parts)
                    after = self.get()
                    if containers.changed() is not None:
                        raise self.place.error(_Changed, _CHANGED)
                    if versions != [tensor._version for tensor in copies]:
                        raise self.place.error(_Changed, _CHANGED_IN_PLACE)
                    self._look_for_results(after)
                    self._finish(region, carried, inputs, [*(after[i] for i in defined), *more], pred, goes_on)
                break
            except Again:
                continue
        try:
            done = _native.finish_loop(tracing.current.tracer, pred, tensors, list(slices), length, False, region)
        except (RuntimeError, ValueError, TypeError) as error:
            raise self.place.error(type(error), str(error)) from error
        state = unflatten(carried.tree, done[: len(tensors)])
        self._put_state(defined, state[: len(defined)], after=True)
        return list(state[len(defined) :])

    def _put_state(self, defined: list[int], state: list, after: bool = False) -> None:
        reason = f"it gets one in the loop only\n  at {self.place}" if after else ""
        values: list = [
            value if value is Nothing or i in self._in_place else Undefined(self.names[i], reason)
            for i, value in enumerate(self.before)
        ]
        for i, value in zip(defined, state):
            values[i] = value
        self.put(tuple(values))

    # What a `return` in the loop leaves has no value before: it begins as zeros, once it is known of what type.

    def _look_for_results(self, after: tuple) -> None:
        for i, value in enumerate(after):
            if self.before[i] is Nothing and value is not Nothing:
                leaves: list = []
                tree = flatten(value, leaves)
                types = [(list(leaf.shape), leaf.dtype) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
                self._results[i] = tree, types
        if self._results:
            raise Again

    def _begin_results(self) -> None:
        for i, (tree, types) in self._results.items():
            full = _registry.FUNCTIONS["full"]
            leaves = [full(kind[0], 0, dtype=kind[1]) if isinstance(kind, tuple) else kind for kind in types]
            self.before[i] = unflatten(tree, leaves)
            self._dtypes, self._on_tape = {}, set()  # what is carried has other places
        self._results.clear()

    def _finish(self, region: Any, carried: Carried, inputs: list, after: list, pred: Any, goes_on: Any) -> None:
        try:
            results = carried.check(after, inputs)
            if pred is not None:
                goes_on = goes_on if isinstance(goes_on, Tensor) else as_tensor(bool(goes_on))
                results = [predicate(self.kind, goes_on), *results]
            carried.finish(region, results)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            raise self.place.error(type(error), str(error)) from error
