"""Objects between the loader's process and its workers.

An object is pickled with the data of its tensors and arrays left out of line. Little data travels in the message. Much
goes into an anonymous file in memory whose descriptor is sent along: it has no name, so nothing is left behind however
a process ends, and no limit of /dev/shm applies. The receiver maps the file: the sender copies once, the receiver
never, and the memory goes when the last tensor over it does.
"""

import contextlib
import ctypes
import io
import mmap
import os
import pickle
import weakref
from multiprocessing import reduction

import numpy as np

import thalweg as tw
from thalweg.io.raw import byte_view, tensor_over

# Below this a message is cheaper than a mapping. It also bounds what a socket must hold (pool.py).
INLINE_BYTES = 4096
_ALIGNMENT = 64
_MOST_BUFFERS_AT_ONCE = 512  # below every system's IOV_MAX


def send(connection, obj):
    """Sends an object; blocks while the socket is full."""
    buffers = []
    body = io.BytesIO()
    _Packer(body, 5, buffer_callback=buffers.append).dump(obj)
    views = [buffer.raw() for buffer in buffers]
    blocks = [body.getbuffer(), *views]
    sizes = [len(block) for block in blocks]
    if sum(sizes) <= INLINE_BYTES:
        connection.send_bytes(pickle.dumps((sizes, b"".join(blocks))))
        return
    descriptor = _written(blocks)
    try:
        connection.send_bytes(pickle.dumps((sizes, None)))
        reduction.send_handle(connection, descriptor, None)
    finally:
        os.close(descriptor)


def receive(connection):
    """Receives an object; blocks until there is one. Raises EOFError when the other side is gone."""
    sizes, data = pickle.loads(connection.recv_bytes())
    if data is None:
        descriptor = reduction.recv_handle(connection)
        try:
            memory = _mapped(descriptor, _starts(sizes)[-1])
        finally:
            os.close(descriptor)
        starts = _starts(sizes)
    else:
        # Copied block by block: what is inline in the message is neither aligned nor writable.
        memory = np.empty(_starts(sizes)[-1], np.uint8)
        starts, offset = _starts(sizes), 0
        for start, size in zip(starts, sizes):
            memory[start : start + size] = np.frombuffer(data, np.uint8, size, offset)
            offset += size
    body, *buffers = (memory[start : start + size] for start, size in zip(starts, sizes))
    return pickle.loads(body, buffers=buffers)


class _Packer(pickle.Pickler):
    """Puts the data of tensors out of line, as pickle itself does with that of NumPy arrays."""

    def reducer_override(self, obj):
        if type(obj) is not tw.Tensor:
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise ValueError("DataLoader: a worker cannot send a tensor with a gradient history; detach it")
        if obj.device.type != "cpu":
            raise ValueError(f"DataLoader: a worker can send tensors on the CPU only, got one on {obj.device}")
        data = pickle.PickleBuffer(byte_view(obj.detach().contiguous()))
        return _unpack_tensor, (data, obj.dtype, tuple(obj.shape), obj.requires_grad)


def _unpack_tensor(data, dtype, shape, requires_grad):
    tensor = tensor_over(data, dtype).reshape(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _starts(sizes):
    """Where the blocks start, each aligned, and the end of the last."""
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size + -size % _ALIGNMENT)
    return starts


def _written(blocks):
    """The descriptor of an anonymous file that holds the blocks, each aligned."""
    descriptor = os.memfd_create("thalweg-batch", os.MFD_CLOEXEC)
    try:
        padded = []
        for block in blocks:
            padded += [memoryview(block).cast("B"), memoryview(bytes(-len(block) % _ALIGNMENT))]
        padded = [view for view in padded if len(view)]
        while padded:
            written = os.writev(descriptor, padded[:_MOST_BUFFERS_AT_ONCE])
            padded = _without(padded, written)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _without(views, count):
    """The views less their first `count` bytes."""
    done = 0
    while done < len(views) and count >= len(views[done]):
        count -= len(views[done])
        done += 1
    rest = views[done:]
    if count:
        rest[0] = rest[0][count:]
    return rest


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_MAP_FAILED = ctypes.c_void_p(-1).value


def _mapped(descriptor, size):
    """The file's memory as a writable uint8 array that unmaps it when it is collected.

    Python's own `mmap` keeps a descriptor open for each mapping, so that a list of 1,000 batches would run into the
    limit on open files; this one keeps none.
    """
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    address = _libc.mmap(None, size, protection, mmap.MAP_SHARED, descriptor, 0)
    if address == _MAP_FAILED:
        error = ctypes.get_errno()
        raise OSError(error, f"DataLoader: mapping a batch of {size} bytes: {os.strerror(error)}")
    block = (ctypes.c_ubyte * size).from_address(address)
    # Not at exit: tensors over the memory may outlive this module then.
    weakref.finalize(block, _libc.munmap, address, size).atexit = False
    return np.frombuffer(block, np.uint8)


def close_quietly(connection):
    with contextlib.suppress(OSError):
        connection.close()
