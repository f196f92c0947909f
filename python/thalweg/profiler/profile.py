"""Recording a profile: the context manager, its schedule, and annotations."""

from __future__ import annotations

import enum
import functools
import os
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from thalweg._core import _native
from thalweg.jit.context import tracing
from thalweg.profiler import chrome
from thalweg.profiler.events import EventList, ProfileEvent, averages, nest

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule"]


class ProfilerActivity(enum.Enum):
    """What to record."""

    CPU = 0


class ProfilerAction(enum.Enum):
    """What a step of a profile does: a schedule gives one for each step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule for `profile`: after `skip_first` steps, cycles of `wait`, `warmup` and `active` steps.

    `repeat` cycles are recorded, 0 for all; each ends with `on_trace_ready`.

    >>> from thalweg.profiler import schedule
    >>> [schedule(wait=1, warmup=1, active=2)(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(
            "schedule: wait, warmup, repeat and skip_first are not negative and active is positive, "
            f"got {wait}, {warmup}, {repeat}, {skip_first} and {active}"
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * length):
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return action


class profile:
    """Records what runs in the block, on all threads: eager ops, modules, and the launches of static programs.

    Args:
        activities: ProfilerActivity values; only the CPU's exist.
        schedule: which steps to record: a function of the step's number that gives a ProfilerAction (see `schedule`).
            `step()` ends a step. Without it everything is recorded.
        on_trace_ready: called with the profile when a recording has ended.
        record_shapes: the shapes of ops' inputs too.
        with_stack: the user's line of eager ops too. Launches of static programs always know theirs.
        with_modules: calls of modules as events, and the module of each op.

    Without a profile being recorded, all of this costs a branch for each launch.

    >>> import thalweg as tw
    >>> with tw.profiler.profile() as prof:
    ...     _ = tw.ones(4).relu().sum()
    >>> [event.name for event in prof.events()]
    ['full', 'relu', 'sum']
    >>> prof.key_averages()[1].count
    1
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        with_stack: bool = False,
        with_modules: bool = True,
    ) -> None:
        for activity in activities or ():
            if activity is not ProfilerActivity.CPU:
                raise ValueError(f"profile: activities are ProfilerActivity.CPU, got {activity!r}")
        self._schedule = schedule
        self._on_trace_ready = on_trace_ready
        self._shapes, self._stack = record_shapes, with_stack
        self._modules = _Modules() if with_modules else None
        self.step_num = 0
        self._recording = False
        self._events: list[ProfileEvent] | None = None
        self._threads: list[str] = []

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins, as entering the block does."""
        self._begin_step()

    def stop(self) -> None:
        """Ends, as leaving the block does. Steps in flight are waited for, so that they are in it."""
        if self._recording:
            self._end_step()
            self._stop_recording()

    def step(self) -> None:
        """Ends a step and begins the next one, which the schedule may treat otherwise."""
        ends = self._action() is ProfilerAction.RECORD_AND_SAVE
        if self._recording:
            self._end_step()
        self.step_num += 1
        if self._recording and (ends or self._action() not in _RECORDS):
            self._stop_recording()
        self._begin_step()

    def _action(self) -> ProfilerAction:
        return self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD

    def _begin_step(self) -> None:
        if not self._recording and self._action() in _RECORDS:
            _native.profile_start(self._shapes, self._stack)
            self._recording = True
            self._start_ns = time.perf_counter_ns()
            type(tracing).watcher = self._modules
        self._step_ns = time.perf_counter_ns()

    def _end_step(self) -> None:
        if self._schedule:
            _native.profile_range("step", f"ProfilerStep#{self.step_num}", self._step_ns, time.perf_counter_ns())

    def _stop_recording(self) -> None:
        _native.drain_queues()
        type(tracing).watcher = None
        self._recording = False
        labels, events, self._threads = _native.profile_stop()
        self._events = nest(self._event(labels[label], *times) for label, *times in events)
        if self._on_trace_ready:
            self._on_trace_ready(self)

    def _event(self, label: tuple, thread: int, begin_ns: int, end_ns: int) -> ProfileEvent:
        kind, name, module, origin, program, stream, shapes, size = label
        start, duration = (begin_ns - self._start_ns) / 1e3, (end_ns - begin_ns) / 1e3
        return ProfileEvent(name, kind, module, origin, program, stream, shapes, size, thread, start, duration)

    def events(self) -> list[ProfileEvent]:
        """What was recorded last, in the order of the begin. Raises RuntimeError before a recording has ended."""
        if self._events is None:
            raise RuntimeError("profile: nothing has been recorded yet; it ends with the block, or with the schedule")
        return self._events

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Sums by name, and by the shapes of the inputs where these are recorded and asked for."""
        return averages(self.events(), group_by_input_shape)

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Writes a trace for chrome://tracing, ui.perfetto.dev and `thalweg show`; compressed for a path with .gz."""
        chrome.write(path, self.events(), self._threads)


class record_function:
    """Marks a block, or the calls of a function, in profiles.

    Args:
        name: of the event.

    >>> import thalweg as tw
    >>> with tw.profiler.profile() as prof:
    ...     with tw.profiler.record_function("mine"):
    ...         _ = tw.ones(2)
    >>> [(event.name, event.parent and event.parent.name) for event in prof.events()]
    [('mine', None), ('full', 'mine')]
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        self._begin_ns = time.perf_counter_ns()
        return self

    def __exit__(self, *failure: object) -> None:
        _native.profile_range("annotation", self.name, self._begin_ns, time.perf_counter_ns())

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return marked


class _Modules:
    """Sees calls of modules, as the watcher of `thalweg.jit.context`."""

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def call_module(self, module: Any, call: Any, args: tuple, kwargs: dict) -> Any:
        if module not in self._names:
            prefix = type(module).__name__
            for path, child in module.named_modules():
                self._names.setdefault(child, f"{prefix}.{path}" if path else prefix)
        name = self._names[module]
        outer, begin_ns = _native.profile_module(name), time.perf_counter_ns()
        try:
            return call(*args, **kwargs)
        finally:
            _native.profile_range("module", name, begin_ns, time.perf_counter_ns())
            _native.profile_module(outer)
