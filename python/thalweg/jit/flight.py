"""Steps in flight: waiting for them, at the end of the process and before a fork too."""

from __future__ import annotations

import atexit
import os

from thalweg._core import _native

__all__ = ["synchronize"]


def synchronize() -> None:
    """Waits until no step of an asynchronous program is in flight, and its callbacks are done (see `tw.jit`).

    Raises: the first failure that nobody has been told of.

    >>> import thalweg as tw
    >>> double = tw.jit(lambda x: 2 * x, asynchronous=True)
    >>> y = double(tw.ones(2))
    >>> tw.synchronize()
    >>> y
    tensor([2., 2.])
    """
    _native.synchronize()


# A process that ends, or that is copied, does so with nothing in flight; what nobody was told of is told at the end.
atexit.register(_native.synchronize)
os.register_at_fork(before=_native.drain_queues, after_in_child=_native.forget_queue_threads)
