"""GPUs, in the terms of torch.cuda: devices, streams, events and memory.

The CUDA backend is a library of its own, which this package looks for when a GPU is first asked for; without it
`why_unavailable` says what is missing. Work on a GPU is queued on the current stream of its device and runs behind the
program; reading a value waits for it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from thalweg._core import _native
from thalweg.errors import DeviceError
from thalweg.frontend.compiled_kernel import Kernel, compile_source
from thalweg.frontend.device import device as Device
from thalweg.frontend.device import set_cuda

__all__ = [
    "Event",
    "Kernel",
    "Stream",
    "allow_graphs",
    "compile_kernel",
    "current_device",
    "current_stream",
    "default_stream",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "stream",
    "synchronize",
    "why_unavailable",
]

_LIBRARY = "libthalweg_cuda.so"


@functools.cache
def _load() -> str:
    """Loads the backend's library, once; what keeps it from being used, or nothing."""
    if _native.has_accelerator():
        return ""
    if not _native.has_cuda_driver():
        return "there is no NVIDIA driver on this machine (libcuda.so.1), so that CUDA cannot be used."
    path = Path(_native.__file__).parent / _LIBRARY
    if not path.exists():
        return f"the CUDA library of thalweg is not installed ({_LIBRARY}): install thalweg-cuda of the same version."
    return _native.load_accelerator(str(path))


def is_available() -> bool:
    """Whether tensors can be made on a GPU."""
    return not _load()


def why_unavailable() -> str:
    """A sentence that says what is missing for tensors on a GPU; empty where they can be made.

    >>> import thalweg as tw
    >>> tw.cuda.is_available() == (tw.cuda.why_unavailable() == "")
    True
    """
    return _load()


def _check_available() -> None:
    if why := _load():
        raise DeviceError(f"cuda: {why}")


def device_count() -> int:
    """The number of GPUs that tensors can be made on."""
    return _native.cuda_device_count() if is_available() else 0


def _index_of(device: Device | str | int | None) -> int:
    _check_available()
    if device is None:
        return _native.cuda_current_device()
    if isinstance(device, int):
        return device
    found = Device(device)
    if found.type != "cuda":
        raise ValueError(f"cuda: a device of CUDA is wanted, got {found}")
    return _native.cuda_current_device() if found.index is None else found.index


set_cuda(_index_of, _load)


def current_device() -> int:
    """The number of the GPU that "cuda" means on this thread."""
    return _index_of(None)


def set_device(device: Device | str | int) -> None:
    """Makes "cuda" mean a GPU on this thread."""
    _native.cuda_set_device(_index_of(device))


def synchronize(device: Device | str | int | None = None) -> None:
    """Waits until all work queued on the GPU is done."""
    _native.cuda_synchronize(_index_of(device))


def get_device_name(device: Device | str | int | None = None) -> str:
    """What the GPU is called."""
    return _native.cuda_info(_index_of(device))["name"]


def get_device_properties(device: Device | str | int | None = None) -> dict[str, int | str]:
    """name, total_memory in bytes, the compute capability (major, minor) and multi_processor_count of the GPU."""
    return _native.cuda_info(_index_of(device))


def memory_stats(device: Device | str | int | None = None) -> dict[str, int]:
    """Bytes handed out now and at most, bytes taken from the GPU, and the number of allocations so far."""
    return _native.cuda_memory_stats(_index_of(device))


def memory_allocated(device: Device | str | int | None = None) -> int:
    """Bytes of the blocks that tensors hold now."""
    return memory_stats(device)["allocated_bytes"]


def max_memory_allocated(device: Device | str | int | None = None) -> int:
    """The most bytes that tensors have held at once since the start or the last reset."""
    return memory_stats(device)["peak_allocated_bytes"]


def memory_reserved(device: Device | str | int | None = None) -> int:
    """Bytes taken from the GPU, blocks kept for reuse included."""
    return memory_stats(device)["reserved_bytes"]


def reset_peak_memory_stats(device: Device | str | int | None = None) -> None:
    """Counts the peak anew from what is held now."""
    _native.cuda_reset_peak(_index_of(device))


def allow_graphs(mode: bool) -> bool:
    """Says whether programs that are made from now on may run as CUDA graphs; returns what held before.

    They may unless this says otherwise. A program launches its kernels one by one in its first run, captures them in
    its second, and queues them as one graph, or a few, from then on: see docs/graphs.md, On CUDA.

    >>> import thalweg as tw
    >>> tw.cuda.allow_graphs(False), tw.cuda.allow_graphs(True)
    (True, False)
    """
    return _native.allow_recordings(bool(mode))


def compile_kernel(
    source: str, name: str, *, compute_capability: str | None = None, options: Sequence[str] = ()
) -> Kernel:
    """Compiles a kernel written in CUDA C++, by NVRTC, which `pip install 'thalweg[cuda]'` brings.

        scale = tw.cuda.compile_kernel(
            '''
            template <class T>
            __global__ void scale(T* x, double by, long long n) {
              long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
              if (i < n) x[i] *= by;
            }
            ''',
            "scale<float>",
        )
        scale(grid=(4,), block=(256,), args=(x, 0.5, x.numel()))

    Args:
        source: what NVRTC compiles, as C++20.
        name: the kernel; an instance, as above, where it is a template.
        compute_capability: what to compile for, "9.0" or "9.0a"; that of the current GPU by default.
        options: further options of NVRTC, such as "-I" with a folder of headers.

    Raises ImportError without cuda-python, RuntimeError with the compiler's words when the source does not compile.
    """
    if compute_capability is None:
        properties = get_device_properties()
        compute_capability = f"{properties['major']}.{properties['minor']}"
    return compile_source(source, name, compute_capability, options)


def empty_cache() -> None:
    """Gives blocks that no tensor holds back to the GPUs; does nothing without one."""
    for index in range(device_count()):
        _native.cuda_empty_cache(index)


class Stream:
    """A queue of work on a GPU: what is queued on it runs in order, beside what is on other streams.

    Args:
        device: the GPU; the current one by default.
        priority: lower numbers run first where the GPU is busy.
    """

    def __init__(self, device: Device | str | int | None = None, priority: int = 0) -> None:
        self._handle = _native.CudaStream(_index_of(device), priority)

    @classmethod
    def _of(cls, handle: _native.CudaStream) -> Stream:
        result = cls.__new__(cls)
        result._handle = handle
        return result

    @property
    def device(self) -> Device:
        """The GPU."""
        return Device("cuda", self._handle.device)

    @property
    def cuda_stream(self) -> int:
        """The address that CUDA's own functions take."""
        return self._handle.native

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream and self.device == other.device

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self._handle.device))

    def __repr__(self) -> str:
        return f"<thalweg.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def synchronize(self) -> None:
        """Waits until all work queued here is done."""
        self._handle.synchronize()

    def query(self) -> bool:
        """Whether all work queued here is done."""
        return self._handle.done()

    def record_event(self, event: Event | None = None) -> Event:
        """Marks this place in the queue."""
        event = Event(device=self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """What is queued from now on begins after the event."""
        if event._handle is not None:  # one that was never recorded has nothing before it
            self._handle.wait(event._handle)

    def wait_stream(self, stream: Stream) -> None:
        """What is queued from now on begins after what is queued on `stream` now."""
        self.wait_event(stream.record_event())


class Event:
    """A place in a stream's queue, to wait for and to measure between.

    Args:
        enable_timing: accepted for PyTorch's sake; every event can be timed.
        device: the GPU; that of the stream it is first recorded on by default.
    """

    def __init__(self, enable_timing: bool = True, *, device: Device | str | int | None = None) -> None:
        self._handle = None if device is None else _native.CudaEvent(_index_of(device))

    def record(self, stream: Stream | None = None) -> None:
        """Marks the end of what is queued on the stream now, the current one by default."""
        stream = current_stream() if stream is None else stream
        if self._handle is None:
            self._handle = _native.CudaEvent(stream._handle.device)
        self._handle.record(stream._handle)

    def wait(self, stream: Stream | None = None) -> None:
        """What is queued on the stream from now on begins after this event."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether the event has been reached."""
        return self._handle is None or self._handle.done()

    def synchronize(self) -> None:
        """Waits until the event has been reached."""
        if self._handle is not None:
            self._handle.synchronize()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`. Raises RuntimeError unless both were recorded."""
        if self._handle is None or end._handle is None:
            raise RuntimeError("elapsed_time: both events must have been recorded")
        return self._handle.elapsed_ms(end._handle)


def current_stream(device: Device | str | int | None = None) -> Stream:
    """The stream that this thread's work on the GPU goes to."""
    return Stream._of(_native.CudaStream.current(_index_of(device)))


def default_stream(device: Device | str | int | None = None) -> Stream:
    """The stream that work goes to where none is set."""
    return Stream._of(_native.CudaStream.default(_index_of(device)))


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Within it this thread's work goes to a stream, and "cuda" means its GPU."""
    if stream is None:
        yield
        return
    device_before, before = current_device(), current_stream(stream.device)
    stream._handle.make_current()
    _native.cuda_set_device(stream._handle.device)
    try:
        yield
    finally:
        before._handle.make_current()
        _native.cuda_set_device(device_before)
