"""How many threads kernels use."""

from thalweg._core import _native

__all__ = ["get_num_threads", "set_num_threads"]


def get_num_threads() -> int:
    """The number of threads that a kernel may use; at first the cores of the process."""
    return _native.num_threads()


def set_num_threads(num: int) -> None:
    """Sets the number of threads that a kernel may use.

    Raises:
        ValueError: a number below 1.
    """
    _native.set_num_threads(num)
