"""Batches read ahead by an actor of the runtime, so that input hides behind compute."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from thalweg._core import _native

__all__ = ["Prefetched", "prefetch", "results_over"]

_open: weakref.WeakSet = weakref.WeakSet()


class Prefetched:
    """An iterator that is read ahead, made by `tw.jit.prefetch`; as a context manager it is closed at the end."""

    def __init__(self, batches: Iterable, ahead: int) -> None:
        self._reader: Any = _native.Reader(iter(batches), ahead)
        _open.add(self)

    def __iter__(self) -> Prefetched:
        return self

    def __next__(self) -> Any:
        if self._reader is None:
            raise StopIteration
        try:
            return self._reader.take()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stops reading, waits for the item that is being read, and lets all of them go."""
        if self._reader is not None:
            reader, self._reader = self._reader, None
            reader.close()

    def __enter__(self) -> Prefetched:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_reader"):
            self.close()


def prefetch(batches: Iterable, ahead: int = 2) -> Prefetched:
    """Reads an iterable on a thread of its own, up to `ahead` items before they are asked for; it is `tw.jit.prefetch`.

    Args:
        batches: a DataLoader, or any other iterable. It is begun by the caller, and read by the other thread under the
            caller's modes (grad mode, autocast).
        ahead: how many items may lie ready. Reading begins with the first that is asked for.

    Returns: an iterator, which is closed when it ends, raises, is dropped, or as a context manager. Items come in their
    order; what the iterable raises is raised with its traceback, after the items before it.

    >>> import thalweg as tw
    >>> with tw.jit.prefetch(tw.ones(2) * i for i in range(3)) as batches:
    ...     [batch.sum().item() for batch in batches]
    [0.0, 2.0, 4.0]
    """
    return Prefetched(batches, ahead)


def results_over(call: Callable, batches: Iterable, ahead: int) -> Iterator[Any]:
    """Yields call(*batch) for each batch that is a tuple or a list, and call(batch) for others."""
    with prefetch(batches, ahead) as ready:
        for batch in ready:
            yield call(*batch) if isinstance(batch, (tuple, list)) else call(batch)


@atexit.register
def _close_all() -> None:  # the threads need the interpreter
    for one in list(_open):
        one.close()
