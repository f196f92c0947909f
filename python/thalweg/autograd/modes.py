"""Switches of this thread: recording, inference mode, anomaly mode, autocast. Each is a context manager and, where
PyTorch's is one, a decorator."""

import abc
import functools
from collections.abc import Callable
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import dtype, dtype_by_name

__all__ = [
    "autocast",
    "detect_anomaly",
    "enable_grad",
    "inference_mode",
    "is_autocast_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


class _Switch(abc.ABC):
    """Enters by setting a mode, leaves by putting back what was there; nests, and decorates functions."""

    def __init__(self) -> None:
        self._before: list = []

    @abc.abstractmethod
    def _enter(self) -> Any:
        """Sets the mode and returns what was there."""

    @abc.abstractmethod
    def _leave(self, before: Any) -> None:
        """Puts back what _enter returned."""

    def __enter__(self) -> "_Switch":
        self._before.append(self._enter())
        return self

    def __exit__(self, *exception: object) -> None:
        self._leave(self._before.pop())

    def _again(self) -> "_Switch":
        """A fresh switch of the same kind, for each call of a decorated function."""
        return type(self)()

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return decorated


class _GradMode(_Switch):
    _enabled: bool

    def __new__(cls, function: Callable | None = None) -> Any:
        self = super().__new__(cls)
        if function is not None:  # @no_grad without parentheses
            _Switch.__init__(self)
            return self(function)
        return self

    def __init__(self, function: Callable | None = None) -> None:
        super().__init__()

    def _enter(self) -> bool:
        before = _native.grad_enabled()
        _native.set_grad_enabled(self._enabled)
        return before

    def _leave(self, before: bool) -> None:
        _native.set_grad_enabled(before)


class no_grad(_GradMode):
    """Operations inside are not recorded.

    >>> import thalweg as tw
    >>> x = tw.ones(2, requires_grad=True)
    >>> with tw.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    _enabled = False


class enable_grad(_GradMode):
    """Operations inside are recorded, also within no_grad."""

    _enabled = True


class set_grad_enabled(_Switch):
    """Switches recording on or off: at once as a function, for a block as a context manager."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._mode = bool(mode)
        self._outer = _native.grad_enabled()
        _native.set_grad_enabled(self._mode)

    def _enter(self) -> bool:
        _native.set_grad_enabled(self._mode)
        return self._outer

    def _leave(self, before: bool) -> None:
        _native.set_grad_enabled(before)

    def __call__(self, function: Callable) -> Callable:
        _native.set_grad_enabled(self._outer)
        return super().__call__(function)

    def _again(self) -> "set_grad_enabled":
        return set_grad_enabled(self._mode)


class inference_mode(_Switch):
    """No recording, and tensors made inside can never be recorded: for code that will not need gradients."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._mode = mode

    def _enter(self) -> tuple[bool, bool]:
        before = (_native.inference_enabled(), _native.grad_enabled())
        _native.set_inference(self._mode)
        _native.set_grad_enabled(not self._mode)
        return before

    def _leave(self, before: tuple[bool, bool]) -> None:
        _native.set_inference(before[0])
        _native.set_grad_enabled(before[1])

    def _again(self) -> "inference_mode":
        return inference_mode(self._mode)


class set_detect_anomaly(_Switch):
    """Switches anomaly mode on or off: backward then raises on nan and shows where the forward op was called."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        self._mode = mode
        self._outer = _native.anomaly_enabled()
        _native.set_anomaly(mode)

    def _enter(self) -> bool:
        _native.set_anomaly(self._mode)
        return self._outer

    def _leave(self, before: bool) -> None:
        _native.set_anomaly(before)

    def _again(self) -> "set_detect_anomaly":
        return set_detect_anomaly(self._mode)


class detect_anomaly(_Switch):
    """Anomaly mode for a block."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()

    def _enter(self) -> bool:
        before = _native.anomaly_enabled()
        _native.set_anomaly(True)
        return before

    def _leave(self, before: bool) -> None:
        _native.set_anomaly(before)


class autocast(_Switch):
    """Matrix products and convolutions inside run in a half type, reductions and losses in float32.

    Args:
        device_type: "cpu" or "cuda".
        dtype: bfloat16 or float16.
        enabled: False switches an outer autocast off.
    """

    def __init__(
        self,
        device_type: str = "cpu",
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        super().__init__()
        self._args = (device_type, dtype, enabled)
        self._dtype = dtype or dtype_by_name("bfloat16")
        self._enabled = enabled
        if self._dtype.itemsize != 2 or not self._dtype.is_floating_point:
            if self._dtype.name != "float32":
                raise ValueError(f"autocast: bfloat16 or float16 is wanted, got {dtype}")
            self._enabled = False

    def _enter(self) -> tuple:
        before = (_native.autocast_enabled(), _native.autocast_dtype())
        _native.set_autocast(self._enabled, self._dtype)
        return before

    def _leave(self, before: tuple) -> None:
        _native.set_autocast(*before)

    def _again(self) -> "autocast":
        return autocast(*self._args)


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return _native.grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return _native.inference_enabled()


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether autocast is on."""
    return _native.autocast_enabled()


def state() -> tuple:
    """All modes that decide what a traced function records."""
    autocast_dtype = _native.autocast_dtype() if _native.autocast_enabled() else None
    return (_native.grad_enabled(), _native.inference_enabled(), autocast_dtype)
