"""The trace that this thread records. Modules and optimizers look here; it imports nothing of thalweg."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["tracing"]


class _Tracing(threading.local):
    current: Any = None  # a thalweg.jit.trace.Trace, or None


tracing = _Tracing()
