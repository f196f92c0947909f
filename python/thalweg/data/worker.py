"""What runs in a worker process of a loader."""

import os
import pickle
import random
import signal
import sys
import traceback
from typing import Any, NamedTuple

import thalweg as tw
from thalweg.data import transport
from thalweg.data.fetch import make_fetcher

# How often an idle worker looks whether its parent still lives. The closed socket tells it sooner, unless another
# process that was forked meanwhile holds the parent's end too.
_PARENT_CHECK_S = 2.0

_worker_info = None


class WorkerInfo(NamedTuple):
    """What a worker knows of itself: its number, how many there are, its seed, and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info():
    """The WorkerInfo of the worker this is called in; None outside workers."""
    return _worker_info


class Failure:
    """An exception as text that travels between processes."""

    def __init__(self, exception, where):
        self.kind = type(exception)
        self.message = (
            f"Caught {self.kind.__name__} {where}.\nOriginal "
            + "".join(traceback.format_exception(type(exception), exception, exception.__traceback__))
        ).rstrip()
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class that only this process knows
            self.kind = RuntimeError

    def reraise(self):
        """Raises the exception's own class, its message the worker's traceback."""
        try:
            message = _PlainRepr(self.message) if issubclass(self.kind, KeyError) else self.message
            exception = self.kind(message)
        except Exception:  # a class that takes other arguments than one message
            exception = RuntimeError(self.message)
        raise exception from None


class _PlainRepr(str):
    """KeyError shows the repr of its message, which would put the whole traceback on one line."""

    def __repr__(self):
        return str(self)


class Job(NamedTuple):
    """What all workers of a pool are given."""

    dataset: Any
    collate_fn: Any
    auto_collation: bool
    drop_last: bool
    iterable: bool
    init_fn: Any
    num_workers: int
    base_seed: int


def worker_main(job, worker_id, connection, inherited):
    """Serves tasks (epoch, number, indices) until the connection closes or None arrives.

    Answers are (epoch, number, kind, value), kind "data", "error" or, where a stream has ended, "end".
    inherited: ends of sockets that came with the fork and belong to the parent alone.
    """
    for end in inherited:
        transport.close_quietly(end)
    # The terminal's interrupt goes to every process; the parent decides. And the parent must be able to end us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        _serve(job, worker_id, connection, _start(job, worker_id))
    except (EOFError, ConnectionError):
        pass  # the parent is gone, and nobody is left to tell


def _start(job, worker_id):
    """Sets the worker up; returns the Failure of the user's `worker_init_fn`, if it fails."""
    global _worker_info
    seed = job.base_seed + worker_id
    tw.set_num_threads(1)
    tw.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    _worker_info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset)
    try:
        if job.init_fn is not None:
            job.init_fn(worker_id)
    except Exception as exception:
        return Failure(exception, f"in DataLoader worker process {worker_id}")
    return None


def _serve(job, worker_id, connection, broken):
    parent, epoch, fetcher, ended = os.getppid(), None, None, False
    where = f"in DataLoader worker process {worker_id}"
    while True:
        while not connection.poll(_PARENT_CHECK_S):
            if os.getppid() != parent:
                return
        task = transport.receive(connection)
        if task is None:
            return
        if task[0] != epoch:
            epoch, fetcher, ended = task[0], None, False
        kind, value = "end", None
        if broken is not None:
            kind, value = "error", broken
        elif not ended:
            try:
                fetcher = fetcher or make_fetcher(job)
                kind, value = "data", fetcher(task[2])
            except StopIteration as stop:
                if not job.iterable:
                    kind, value = "error", Failure(stop, where)
            except Exception as exception:
                kind, value = "error", Failure(exception, where)
            ended = kind == "end"
        _answer(connection, (epoch, task[1], kind, value), where)
        del value  # its memory need not wait for the next task


def _answer(connection, answer, where):
    try:
        transport.send(connection, answer)
    except (EOFError, ConnectionError):
        raise
    except Exception as exception:  # what the user's code made does not pickle, or memory is short
        transport.send(connection, (*answer[:2], "error", Failure(exception, where)))
