"""CUDA kernels from source text, compiled while the program runs, by NVRTC through cuda-python.

A kernel is compiled to machine code, which a driver takes that is older than the compiler, and to PTX, from which the
types of its parameters are read. Nothing but the launch needs a GPU.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.errors import DeviceError

_OP = "cuda.compile_kernel"
# What parameters of PTX's types take.
_REAL = {"f32": ctypes.c_float, "f64": ctypes.c_double}
_WHOLE = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}


def _bindings(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise ImportError(
            f"{_OP}: cuda-python is needed to compile kernels (pip install 'thalweg[cuda]'): {error}"
        ) from error


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: its type in PTX, "b8" for structs, and its size."""

    kind: str
    size_bytes: int


def parameters_of(ptx: str, entry: str) -> list[Parameter]:
    """The parameters that PTX declares for a kernel."""
    declared = re.search(rf"\.entry\s+{re.escape(entry)}\s*\((.*?)\)\s*(?:[.{{]|$)", ptx, re.S)
    if declared is None:
        raise DeviceError(f"cuda: NVRTC's output has no kernel {entry}")
    found = []
    for line in re.findall(r"\.param\s+([^,]+)", declared[1]):
        kind = re.search(r"\.([busf]\d+)\b", line)
        count = re.search(r"\[(\d+)\]\s*$", line)
        assert kind is not None, line
        found.append(Parameter(kind[1], int(kind[1][1:]) // 8 * (int(count[1]) if count else 1)))
    return found


def pack_argument(place: str, parameter: Parameter, value: Any, device: int) -> ctypes.Array | ctypes._SimpleCData:
    """The memory that the driver copies a parameter from. `place` begins the message of an error."""
    size, kind = parameter.size_bytes, parameter.kind
    if isinstance(value, Tensor):
        if value.device.type != "cuda" or value.device.index != device:
            raise ValueError(f"{place}: a tensor on cuda:{device} is wanted, got one on {value.device}")
        if size != 8 or kind[0] == "f":
            raise TypeError(f"{place}: the kernel takes {size} bytes ({kind}) there, got a tensor, which is an address")
        return ctypes.c_uint64(value.data_ptr())
    if isinstance(value, np.generic):
        data = value.tobytes()
        if len(data) != size:
            raise TypeError(f"{place}: the kernel takes {size} bytes ({kind}) there, got {len(data)} of {value.dtype}")
        return (ctypes.c_char * size).from_buffer_copy(data)
    if isinstance(value, (int, float)) and kind in _REAL:
        return _REAL[kind](value)
    if isinstance(value, int) and kind[0] != "f" and size in _WHOLE:
        if not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
            raise ValueError(f"{place}: {value} does not fit into the {size} bytes that the kernel takes there")
        return _WHOLE[size](value)
    wanted = "a NumPy value of these bytes" if size not in _WHOLE else "a number of this type"
    raise TypeError(f"{place}: the kernel takes {size} bytes ({kind}) there: {wanted} is wanted, got {value!r}")


def _three(place: str, sizes: Sequence[int] | int) -> tuple[int, int, int]:
    given = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not 1 <= len(given) <= 3 or min(given) < 1:
        raise ValueError(f"{place}: one to three numbers above zero are wanted, got {given}")
    first, second, third = *given, *(1,) * (3 - len(given))
    return first, second, third


class Kernel:
    """A compiled kernel. What it does to tensors, autograd and traces do not see."""

    def __init__(self, name: str, entry: str, code: bytes, ptx: str) -> None:
        self.name = name
        self.ptx = ptx
        self.code = code
        self.parameters = parameters_of(ptx, entry)
        self._entry = entry
        self._functions: dict[int, Any] = {}  # of each device on which it was launched

    def __repr__(self) -> str:
        return f"<thalweg.cuda.Kernel {self.name}({', '.join(p.kind for p in self.parameters)})>"

    def __call__(
        self,
        grid: Sequence[int] | int = 1,
        block: Sequence[int] | int = 1,
        args: Sequence[Any] = (),
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Queues the kernel on a stream, the current one by default.

        Args:
            grid: blocks along x, y and z.
            block: threads of a block along x, y and z.
            args: an argument for each parameter: tensors of the stream's GPU for pointers, numbers, and NumPy values
                for what has other types. Strides are not told to the kernel.
            shared_mem: bytes of dynamic shared memory.
            stream: a `thalweg.cuda.Stream`.
        """
        native = _native.CudaStream.current(_native.cuda_current_device()) if stream is None else stream._handle
        blocks, threads = _three(f"{self.name}: grid", grid), _three(f"{self.name}: block", block)
        if len(args) != len(self.parameters):
            raise TypeError(f"{self.name}: {len(self.parameters)} arguments are wanted, got {len(args)}")
        packed = [
            pack_argument(f"{self.name}: argument {i}", parameter, value, native.device)
            for i, (parameter, value) in enumerate(zip(self.parameters, args, strict=True))
        ]
        addresses = (ctypes.c_void_p * len(packed))(*(ctypes.addressof(value) for value in packed))
        self._launch(native, blocks, threads, shared_mem, addresses)

    def _launch(self, stream: Any, blocks: Any, threads: Any, shared_mem: int, addresses: ctypes.Array) -> None:
        driver = _bindings("driver")
        try:
            context = self._check(driver.cuDevicePrimaryCtxRetain(stream.device), "cuDevicePrimaryCtxRetain")
        except RuntimeError as error:  # what the bindings raise without libcuda
            raise DeviceError(f"cuda: kernel {self.name} cannot be launched: {error}") from error
        self._check(driver.cuCtxPushCurrent(context), "cuCtxPushCurrent")
        try:
            function = self._function(driver, stream.device, shared_mem)
            launched = driver.cuLaunchKernel(
                function, *blocks, *threads, shared_mem, stream.native, ctypes.addressof(addresses), 0
            )
            self._check(launched, "cuLaunchKernel")
        finally:
            driver.cuCtxPopCurrent()
            driver.cuDevicePrimaryCtxRelease(stream.device)

    def _function(self, driver: ModuleType, device: int, shared_mem: int) -> Any:
        """The kernel in the memory of the device, whose context is current."""
        if device not in self._functions:
            module = self._check(driver.cuModuleLoadData(self.code), "cuModuleLoadData")
            found = driver.cuModuleGetFunction(module, self._entry.encode())
            self._functions[device] = self._check(found, "cuModuleGetFunction")
        function = self._functions[device]
        if shared_mem > 48 << 10:  # more than that is asked for
            most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._check(driver.cuFuncSetAttribute(function, most, shared_mem), "cuFuncSetAttribute")
        return function

    def _check(self, result: tuple[Any, ...], call: str) -> Any:
        """What a call of the driver gave; raises DeviceError when it failed."""
        status, *values = result
        if status != 0:
            raise DeviceError(f"cuda: kernel {self.name}: {call} failed: {status.name}")
        return values[0] if values else None


def _output(size_of: Callable, get: Callable, program: Any) -> bytes:
    """One of the texts that NVRTC gives back for a program."""
    text = b"\0" * size_of(program)[1]
    get(program, text)
    return text


def compile_source(source: str, name: str, capability: str, options: Sequence[str]) -> Kernel:
    """The kernel `name` of the source, for a compute capability such as "9.0"."""
    nvrtc = _bindings("nvrtc")
    success = nvrtc.nvrtcResult.NVRTC_SUCCESS
    try:
        status, program = nvrtc.nvrtcCreateProgram(source.encode(), f"{name}.cu".encode(), 0, None, None)
    except RuntimeError as error:  # what the bindings raise without the library
        raise ImportError(f"{_OP}: NVRTC is missing (pip install 'thalweg[cuda]'): {error}") from error
    if status != success:
        raise DeviceError(f"{_OP}: nvrtcCreateProgram failed: {status.name}")
    try:
        nvrtc.nvrtcAddNameExpression(program, name.encode())
        flags = [f"--gpu-architecture=sm_{capability.replace('.', '')}", "--std=c++20", *options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        if status != success:
            log = _output(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0\n")
            said = log.decode(errors="replace") or status.name
            raise RuntimeError(f"{_OP}: {name} does not compile for compute capability {capability}:\n{said}")
        _, entry = nvrtc.nvrtcGetLoweredName(program, name.encode())
        code = _output(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        ptx = _output(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return Kernel(name, entry.decode(), code, ptx.rstrip(b"\0").decode())
