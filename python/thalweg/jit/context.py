"""Who watches: the trace that this thread records, or a profile. Modules and optimizers look here; it needs nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["bound", "max_iterations", "tracing"]


class _Tracing(threading.local):
    current: Any = None  # a thalweg.jit.trace.Trace, or None
    watcher: Any = None  # sees calls of modules: the trace; in threads without one, a profile, if the class holds one

    def begin(self, trace: Any) -> None:
        self.current = self.watcher = trace

    def end(self) -> None:
        self.current = None
        del self.watcher


tracing = _Tracing()


class _Bound(threading.local):
    most: int | None = None  # iterations of the loops that are converted; None: nobody has said


bound = _Bound()


@contextlib.contextmanager
def max_iterations(most: int) -> Iterator[None]:
    """Says how often the loops inside that tensors decide on run at most; it is `tw.jit.max_iterations`.

    Args:
        most: the largest number of iterations of a `while`, or of a `for` over the range of a tensor.

    The backward of such a loop needs it in a static program: the memory for what an iteration leaves to backward is
    planned. A loop that wants to go on is a RuntimeError of the call. In eager mode it changes nothing.

    >>> import thalweg as tw
    >>> @tw.jit
    ... def grow(x):
    ...     with tw.jit.max_iterations(20):
    ...         while x.sum() < 100:
    ...             x = x * 2
    ...     return x
    >>> x = tw.tensor([1.0, 2.0], requires_grad=True)
    >>> grow(x).sum().backward()
    >>> x.grad
    tensor([64., 64.])
    """
    if type(most) is not int or most < 0:
        raise ValueError(f"max_iterations: a number from 0 on is wanted, got {most!r}")
    before, bound.most = bound.most, most
    try:
        yield
    finally:
        bound.most = before
