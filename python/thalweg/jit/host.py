"""What Python does in every call before its program runs: schedules that step, numbers drawn by `random` and NumPy.

While tracing, it is done for real, so that the function sees what comes of it, and taken back at the end: the call
that was traced does it again, as every later one does. When a run fails, it is taken back too.
"""

from __future__ import annotations

import functools
import importlib
import pickle
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any

__all__ = ["Draw", "Hooks", "HostStep", "ScheduleStep", "Source", "parts_of"]


class HostStep(ABC):
    """A step; `save` comes before it, `undo` takes back all since then."""

    @abstractmethod
    def save(self) -> None:
        """Notes what `run` will change."""

    @abstractmethod
    def run(self) -> None:
        """Does it."""

    @abstractmethod
    def undo(self) -> None:
        """Puts back what `save` has noted, if it has."""


class ScheduleStep(HostStep):
    """A schedule of learning rates that moves on."""

    def __init__(self, schedule: Any, step: Callable, args: tuple, kwargs: dict) -> None:
        self.schedule, self._step, self._args, self._kwargs = schedule, step, args, kwargs
        self._saved: list | None = None

    def save(self) -> None:
        self._saved = [(item.__dict__, _copied(item.__dict__)) for item in parts_of(self.schedule)]
        self._saved += [(group, _copied(group)) for group in self.schedule.optimizer.param_groups]

    def run(self) -> None:
        self._step(self.schedule, *self._args, **self._kwargs)

    def undo(self) -> None:
        for container, before in self._saved or ():
            for key in [key for key in container if key not in before]:
                del container[key]
            container.update(before)
        self._saved = None


def parts_of(schedule: Any) -> list:
    """A schedule and those that it is made of."""
    parts = [schedule]
    for part in getattr(schedule, "_schedulers", ()):
        parts += parts_of(part)
    return parts


def _copied(container: dict) -> dict:
    return {key: list(value) if type(value) is list and key != "params" else value for key, value in container.items()}


class Draw(HostStep):
    """What a generator of the host draws: in every call anew, where it stands in the order of draws.

    Args:
        trace: the Trace that it belongs to.
        source: the generator.
        draw: gives what is drawn: numbers, arrays.
        first: no draw from the same source comes before this one in a call, so that this one keeps the state.
    """

    def __init__(self, trace: Any, source: Source, draw: Callable[[], Any], first: bool) -> None:
        self.source, self.name = source, source.name
        self.result: Any = None
        self._trace, self._draw, self._first = trace, draw, first
        self._state: Any = None

    def save(self) -> None:
        if self._first:
            self._state = self.source.get_state()

    def run(self) -> None:
        value = self._draw()
        if type(value) in (int, float):
            self.result = _put(self.result, value)
        else:
            self.result = importlib.import_module("thalweg.jit.host_arrays").take(
                self.result, value, self._trace, self.name
            )

    def undo(self) -> None:
        if self._state is not None:
            self.source.set_state(self._state)
            self._state = None


def _put(held: Any, number: float) -> list:
    if held is None:
        return [number]
    held[0] = number
    return held


class Source(ABC):
    """A generator of the host: the one of a module, or an object.

    Args:
        owner: a module or an object, whose methods draw.
        draws: names of those that give numbers or arrays.
        others: names of those that a traced function may not call.
    """

    def __init__(self, name: str, owner: Any, draws: Collection[str], others: Collection[str] = ()) -> None:
        self.name, self.owner = name, owner
        self._draws, self._others = draws, others

    @abstractmethod
    def get_state(self) -> Any:
        """All that the next draws depend on."""

    @abstractmethod
    def set_state(self, state: Any) -> None:
        """Puts back what get_state() gave."""

    def functions(self) -> dict[str, Callable]:
        """Those of the owner that draw, and those that may not be called."""
        found = {name: getattr(self.owner, name, None) for name in (*self._draws, *self._others)}
        return {name: function for name, function in found.items() if function is not None}

    def call(self, trace: Any, name: str, function: Callable, args: tuple, kwargs: dict) -> Any:
        """A call of one of these in a traced function."""
        if name in self._others:
            raise NotImplementedError(
                f"{self.name}: {name} cannot be drawn in a traced function, which draws numbers and arrays, anew in "
                "every call; draw it outside, and give it to the function"
            )
        if name == "choice" and self.name.startswith("random"):  # the number decides, and is guarded
            return args[0][trace.draw(self, function, (range(len(args[0])),), {})]
        return trace.draw(self, function, args, kwargs)


class StateMethods(Source):
    """A source with methods that give and take its state: the modules `random` and `numpy.random`, their objects."""

    def get_state(self) -> Any:
        return (getattr(self.owner, "getstate", None) or self.owner.get_state)()

    def set_state(self, state: Any) -> None:
        (getattr(self.owner, "setstate", None) or self.owner.set_state)(state)


class BitGenerator(Source):
    """A generator of `numpy.random.default_rng`."""

    def get_state(self) -> Any:
        return self.owner.bit_generator.state

    def set_state(self, state: Any) -> None:
        self.owner.bit_generator.state = state


_PYTHON = (
    "random uniform triangular betavariate expovariate gammavariate gauss lognormvariate normalvariate "
    "vonmisesvariate paretovariate weibullvariate randrange randint getrandbits choice"
).split()
_PYTHON_OTHERS = "choices sample shuffle randbytes seed setstate".split()
_NUMPY = (
    "rand randn random random_sample ranf sample uniform normal standard_normal randint integers beta binomial "
    "chisquare choice dirichlet exponential gamma geometric gumbel hypergeometric laplace logistic lognormal logseries "
    "multinomial multivariate_hypergeometric multivariate_normal negative_binomial noncentral_chisquare noncentral_f "
    "pareto permutation permuted poisson power rayleigh standard_cauchy standard_exponential standard_gamma standard_t "
    "triangular vonmises wald weibull zipf"
).split()
_NUMPY_OTHERS = "shuffle bytes seed set_state spawn".split()


def source_of(item: Any) -> Source | None:
    """The source that an object is, or None."""
    if isinstance(item, random.Random) and not isinstance(item, random.SystemRandom):
        return StateMethods("random", item, _PYTHON, _PYTHON_OTHERS)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is None:
        return None
    if isinstance(item, numpy_random.Generator):
        return BitGenerator("numpy.random", item, _NUMPY, _NUMPY_OTHERS)
    if isinstance(item, numpy_random.RandomState):
        return StateMethods("numpy.random", item, _NUMPY, _NUMPY_OTHERS)
    return None


def modules() -> list[Source]:
    """The sources that are modules; those that nobody has imported are left out."""
    known = (("random", _PYTHON, _PYTHON_OTHERS), ("numpy.random", _NUMPY, _NUMPY_OTHERS))
    return [StateMethods(name, sys.modules[name], *names) for name, *names in known if name in sys.modules]


class Hooks:
    """Sends draws of a traced function to its trace, as long as it is recorded.

    Functions of the modules are replaced in these; the same functions where code has imported them by themselves, and
    objects that draw, in the places that the function's own code reads.
    """

    def __init__(self, trace: Any, owns: Callable[[], bool]) -> None:
        self._trace, self._owns = trace, owns
        self._before: list[tuple[Callable, Any]] = []  # (what puts a value there, the value)
        self._states: dict[Source, bytes] = dict.fromkeys(modules(), b"")
        self._shared: set[Source] = set()  # other threads draw from them meanwhile
        self.past = ""  # name of a source that the function has drawn from behind the trace's back
        self._hooked: dict[int, tuple[Any, Any]] = {}  # by id: (a function or an object, what replaces it)
        for source in self._states:
            for name, function in source.functions().items():
                hooked = self._hook(source, name, function)
                self._hooked[id(function)] = function, hooked
                self._replace(functools.partial(setattr, source.owner, name), function, hooked)
        self.settle()

    def look(self, put: Callable[[Any], None], value: Any) -> bool:
        """Hooks a value that the traced function may read, which `put` can replace."""
        known = self._hooked.get(id(value))
        if known is None:
            source = source_of(value)
            if source is None:
                return False
            self._states[source] = pickle.dumps(source.get_state())
            hooked = HookedGenerator(source, {n: self._hook(source, n, f) for n, f in source.functions().items()})
            known = self._hooked[id(value)] = value, hooked
        self._replace(put, value, known[1])
        return True

    def _replace(self, put: Callable[[Any], None], value: Any, hooked: Any) -> None:
        self._before.append((put, value))
        put(hooked)

    def _hook(self, source: Source, name: str, function: Callable) -> Callable:
        def hooked(*args: Any, **kwargs: Any) -> Any:
            if not self._owns():
                self._shared.add(source)
                return function(*args, **kwargs)
            return source.call(self._trace, name, function, args, kwargs)

        return hooked

    def settle(self) -> None:
        """What has been drawn up to now is the trace's."""
        for source in self._states:
            self._states[source] = pickle.dumps(source.get_state())

    def check(self) -> None:
        """Notes a source that has been drawn from since the last settle()."""
        for source, state in self._states.items():
            if not self.past and source not in self._shared and pickle.dumps(source.get_state()) != state:
                self.past = source.name

    def restore(self) -> None:
        for put, value in reversed(self._before):
            put(value)


class HookedGenerator:
    """A generator's stand-in while a function is traced."""

    def __init__(self, source: Source, methods: dict[str, Callable]) -> None:
        self._source, self._methods = source, methods

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """isinstance() takes it for what it stands for; type() tells."""
        return type(self._source.owner)

    def __getattr__(self, name: str) -> Any:
        return self._methods[name] if name in self._methods else getattr(self._source.owner, name)
