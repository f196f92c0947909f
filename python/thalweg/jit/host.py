"""What Python does in every call before its program runs: schedules that step, numbers drawn by `random` and NumPy.

While tracing, it is done for real, so that the function sees what comes of it, and taken back at the end: the call
that was traced does it again, as every later one does. When a run fails, it is taken back too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["HostStep", "ScheduleStep"]


class HostStep:
    """A step; `save` comes before it, `undo` takes back all since then."""

    def save(self) -> None:
        """Notes what `run` will change."""
        raise NotImplementedError

    def run(self) -> None:
        """Does it."""
        raise NotImplementedError

    def undo(self) -> None:
        """Puts back what `save` has noted, if it has."""
        raise NotImplementedError


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
