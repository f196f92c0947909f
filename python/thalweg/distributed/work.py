"""What an asynchronous call returns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

__all__ = ["Request", "Work", "milliseconds"]

_GROUP_TIMEOUT = -1  # the group's own


class Request(Protocol):
    """What the core returns for a posted call."""

    def test(self) -> bool: ...

    def wait(self, timeout_ms: int) -> None: ...


def milliseconds(timeout: timedelta | float | None) -> int:
    """A duration, as a timedelta or in seconds, in whole milliseconds; that of the group for None."""
    if timeout is None:
        return _GROUP_TIMEOUT
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    if not seconds > 0:
        raise ValueError(f"a time-out above 0 seconds is wanted, got {seconds}")
    return max(round(seconds * 1000), 1)


class Work:
    """A call that has been posted. Tensors of it may be used once `wait` has returned.

    Nothing goes on behind the scenes: `wait` and `is_completed` of any work move all that have been posted.
    """

    def __init__(self, request: Request, finish: Callable[[], None] | None = None) -> None:
        self._request = request
        self._finish = finish

    def is_completed(self) -> bool:
        """Whether the call is complete. Never waits; raises CommError when it has failed."""
        if not self._request.test():
            return False
        self._end()
        return True

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """Waits for the call, for `timeout` (seconds or a timedelta) or that of the group; returns True.

        Raises CommError when a rank has died, has called something else, or has not come in time.
        """
        self._request.wait(milliseconds(timeout))
        self._end()
        return True

    def _end(self) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()
