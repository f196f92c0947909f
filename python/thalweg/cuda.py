"""GPUs. The CUDA backend is a library of its own that this package finds at run time; without it, this says so."""

__all__ = ["device_count", "is_available", "why_unavailable"]


def is_available() -> bool:
    """Whether tensors can be made on a GPU."""
    return False


def device_count() -> int:
    """The number of GPUs that tensors can be made on."""
    return 0


def why_unavailable() -> str:
    """A sentence that says what is missing for GPU tensors.

    >>> import thalweg as tw
    >>> print(tw.cuda.why_unavailable())
    thalweg has no CUDA backend yet: this version computes on the CPU.
    """
    return "thalweg has no CUDA backend yet: this version computes on the CPU."
