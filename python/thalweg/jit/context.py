"""Who watches: the trace that this thread records, or a profile. Modules and optimizers look here; it needs nothing."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["tracing"]


class _Tracing(threading.local):
    current: Any = None  # a thalweg.jit.trace.Trace, or None
    watcher: Any = None  # sees calls of modules: the trace; in threads without one, a profile, if the class holds one

    def begin(self, trace: Any) -> None:
        self.current = self.watcher = trace

    def end(self) -> None:
        self.current = None
        del self.watcher


tracing = _Tracing()
