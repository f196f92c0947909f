"""What Python does in every call before its program runs: schedules that step, numbers drawn by `random` and NumPy.

While tracing, it is done for real, so that the function sees what comes of it, and taken back at the end: the call
that was traced does it again, as every later one does. When a run fails, it is taken back too.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

__all__ = ["SOURCES", "Draw", "HostStep", "ScheduleStep", "Source", "parts_of"]


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
    """A number drawn from a generator of the host: in every call anew, where it stands in the order of draws.

    Args:
        source: the generator's getstate and setstate.
        draw: gives the number.
        first: no draw from the same source comes before this one in a call, so that this one keeps the state.
    """

    def __init__(self, source: Source, draw: Callable[[], Any], first: bool) -> None:
        self.source, self.drawn = source, [0]
        self._draw, self._first = draw, first
        self._state: Any = None

    def save(self) -> None:
        if self._first:
            self._state = self.source.get_state()

    def run(self) -> None:
        value = self._draw()
        if not isinstance(value, (int, float)) and getattr(value, "shape", None) != ():
            raise NotImplementedError(self.source.only_numbers("an array"))
        self.drawn[0] = value if type(value) in (int, float) else value.item()

    def undo(self) -> None:
        if self._state is not None:
            self.source.set_state(self._state)
            self._state = None


class Source:
    """A module that draws numbers: `random` or `numpy.random`.

    Args:
        numbers: names of its functions that give a number.
        others: names of those that a traced function may not call: what they give is no number.
    """

    def __init__(self, name: str, states: tuple[str, str], numbers: str, others: str) -> None:
        self.name, self._states, self._numbers, self._others = name, states, numbers.split(), others.split()

    @property
    def module(self) -> Any:
        """The module, or None where nobody has imported it."""
        return sys.modules.get(self.name)

    def get_state(self) -> Any:
        return getattr(self.module, self._states[0])()

    def set_state(self, state: Any) -> None:
        getattr(self.module, self._states[1])(state)

    def only_numbers(self, what: str) -> str:
        """Why something cannot be drawn."""
        return (
            f"{self.name}: {what} cannot be drawn in a traced function, which draws single numbers, anew in every "
            "call; draw it outside, and give it to the function"
        )

    def hook(self, draw: Callable, owns: Callable[[], bool]) -> Callable[[], None]:
        """Sends calls, where `owns()`, to draw(source, function, args, kwargs); returns what puts all back."""
        module, before = self.module, {}
        names = [name for name in self._numbers + self._others if hasattr(module, name)]
        for name in names:
            before[name] = function = getattr(module, name)
            setattr(module, name, self._hooked(name, function, draw, owns))

        def restore() -> None:
            for name, function in before.items():
                setattr(module, name, function)

        return restore

    def _hooked(self, name: str, function: Callable, draw: Callable, owns: Callable[[], bool]) -> Callable:
        def hooked(*args: Any, **kwargs: Any) -> Any:
            if not owns():
                return function(*args, **kwargs)
            if name in self._others:
                raise NotImplementedError(self.only_numbers(name))
            if self.name == "random" and name == "choice":  # the number decides, and is guarded
                return args[0][draw(self, function, (range(len(args[0])),), {})]
            return draw(self, function, args, kwargs)

        return hooked


SOURCES = (
    Source(
        "random",
        ("getstate", "setstate"),
        "random uniform triangular betavariate expovariate gammavariate gauss lognormvariate normalvariate "
        "vonmisesvariate paretovariate weibullvariate randrange randint getrandbits choice",
        "choices sample shuffle randbytes seed setstate",
    ),
    Source(
        "numpy.random",
        ("get_state", "set_state"),
        "rand randn random random_sample ranf sample uniform normal standard_normal randint beta binomial exponential "
        "gamma geometric gumbel laplace logistic lognormal poisson power rayleigh standard_exponential triangular",
        "choice permutation shuffle bytes multinomial multivariate_normal dirichlet seed set_state",
    ),
)
