"""Objects between processes: every dtype and size, no open files, no memory left."""

import multiprocessing
import os
import threading

import numpy as np
import pytest
import thalweg as tw
from thalweg.data import transport

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def through(obj):
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        sender = threading.Thread(target=transport.send, args=(ours, obj))
        sender.start()
        back = transport.receive(theirs)
        sender.join()
    return back


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("count", [0, 3, 5000])
def test_every_dtype(name, count):
    x = (tw.arange(count) % 2).to(getattr(tw, name))
    back = through(x)
    assert back.dtype == x.dtype and back.shape == x.shape and bool((back == x).all())
    back.zero_()  # writable


def test_shapes_and_strides():
    x = tw.arange(6000.0).reshape(20, 300)
    for view in (x.t(), x[::2, 3:], x[0, 0], x[:, :0], x[0].expand(40, 300)):
        back = through(view)
        assert back.shape == view.shape and bool((back == view).all())


def test_containers_arrays_and_identity():
    x = tw.ones(3000)
    back = through({"x": [x, x], "n": np.arange(5000), "s": "text", "b": bytes(9000), "i": 3})
    assert back["x"][0] is back["x"][1] and back["x"][0].sum() == 3000
    assert (back["n"] == np.arange(5000)).all() and back["n"].flags.writeable
    assert (back["s"], back["b"], back["i"]) == ("text", bytes(9000), 3)


def test_requires_grad():
    assert through(tw.ones(3, requires_grad=True)).requires_grad
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs, pytest.raises(ValueError, match="gradient history"):
        transport.send(ours, tw.ones(3, requires_grad=True) * 2)


def test_many_buffers():
    back = through([tw.full((7,), float(i)) for i in range(3000)])
    assert [t[6].item() for t in back] == list(range(3000))


def open_files():
    return len(os.listdir("/proc/self/fd"))


def mapped_batches():
    with open("/proc/self/maps") as maps:
        return sum("thalweg-batch" in line for line in maps)


def test_batches_hold_no_files_and_give_their_memory_back():
    files = open_files()
    batches = [through(tw.ones(5000)) for _ in range(50)]
    assert open_files() == files and mapped_batches() >= 1
    part = batches[0][:2]
    del batches
    assert part.tolist() == [1, 1] and mapped_batches() == 1
    del part
    assert mapped_batches() == 0


def test_closed_connection():
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    with theirs, pytest.raises(EOFError):
        transport.receive(theirs)
