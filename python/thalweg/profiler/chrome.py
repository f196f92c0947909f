"""Profiles as Chrome traces: JSON that chrome://tracing and ui.perfetto.dev open, and `thalweg show` too.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from thalweg.io.files import replacing
from thalweg.profiler.events import ProfileEvent

__all__ = ["write"]

_CATEGORIES = {"op": "cpu_op", "annotation": "user_annotation"}


def write(path: str | os.PathLike, events: Iterable[ProfileEvent], threads: list[str]) -> None:
    """Writes events, and the names of the threads that they ran on; compressed where the path ends with .gz."""
    events = list(events)
    process = os.getpid()
    used = sorted({event.thread for event in events})
    found: list[dict[str, Any]] = [_name("process_name", process, 0, "thalweg")]
    found += [_name("thread_name", process, thread, threads[thread]) for thread in used]
    found += [_entry(event, process) for event in [*_module_spans(events), *events]]
    text = json.dumps({"traceEvents": found, "displayTimeUnit": "ms"}, ensure_ascii=False)
    with replacing(path) as temporary:
        data = text.encode()
        with open(temporary, "wb") as file:
            file.write(gzip.compress(data) if os.fspath(path).endswith(".gz") else data)


def _module_spans(events: list[ProfileEvent]) -> list[ProfileEvent]:
    """A static program calls no modules: the launches of one that follow each other are put into a span of its name."""
    firings: dict[int, list[ProfileEvent]] = {}
    for event in events:
        if event.kind == "launch":
            firings.setdefault(id(event.parent), []).append(event)
    spans: list[ProfileEvent] = []
    for launches in firings.values():
        open_: list[ProfileEvent] = []
        for launch in launches:
            parts = launch.module.split(".") if launch.module else []
            paths = [".".join(parts[: i + 1]) for i in range(len(parts))]
            while open_ and [span.name for span in open_] != paths[: len(open_)]:
                open_.pop()
            for path in paths[len(open_) :]:
                span = replace(launch, name=path, kind="module", origin="", shapes="", bytes=0, duration=0.0)
                spans.append(span)
                open_.append(span)
            for span in open_:
                span.duration = launch.end - span.start
    return spans


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _entry(event: ProfileEvent, process: int) -> dict[str, Any]:
    texts = {name: getattr(event, name) for name in ("module", "origin", "program", "stream", "shapes")}
    arguments: dict[str, Any] = {name: text for name, text in texts.items() if text}
    if event.bytes:
        arguments["bytes"] = event.bytes
    return {
        "ph": "X",
        "name": event.name,
        "cat": _CATEGORIES.get(event.kind, event.kind),
        "pid": process,
        "tid": event.thread,
        "ts": round(event.start, 3),
        "dur": round(event.duration, 3),
        "args": arguments,
    }
