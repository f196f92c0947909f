"""Tensors as plain bytes and back, for every dtype, without copying where that is possible."""

import numpy as np

import thalweg as tw


def byte_view(tensor):
    """The bytes of a contiguous CPU tensor as a flat memoryview that shares its memory."""
    return memoryview(tensor.detach().reshape(-1).view(tw.uint8).numpy())


def tensor_over(buffer, dtype):
    """A 1-d tensor of `dtype` over a writable buffer, which it keeps alive.

    The memory is shared unless the buffer starts at an address that `dtype` is not aligned to: then it is copied.
    """
    data = np.frombuffer(buffer, dtype=np.uint8)
    if data.size == 0:
        return tw.empty(0, dtype=dtype)
    if data.ctypes.data % dtype.itemsize:
        data = data.copy()
    return tw.from_numpy(data).view(dtype)


def dtype_name(dtype):
    """`"float32"` for `tw.float32`."""
    return str(dtype).rpartition(".")[2]


def swap_bytes(view, itemsize):
    """Reverses the byte order of every `itemsize` bytes of a writable byte buffer, in place."""
    if itemsize > 1:
        np.frombuffer(view, dtype=f"u{itemsize}").byteswap(inplace=True)
