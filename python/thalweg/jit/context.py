"""The trace that is being recorded. A module of its own: modules and optimizers look here, and import nothing else."""

from __future__ import annotations

from typing import Any

current: Any = None  # a thalweg.jit.trace.Trace, or None
