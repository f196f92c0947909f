"""Static programs: tracing Python functions into graphs, and running their plans."""

from __future__ import annotations

from thalweg.jit.function import Compiled, jit

__all__ = ["Compiled", "jit"]
