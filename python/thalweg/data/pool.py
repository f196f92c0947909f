"""The worker processes of a loader: starting, talking to, watching and ending them.

Each worker has one socket. Messages are small, since much data travels as a file (transport.py), and no more than
`_MOST_IN_FLIGHT` tasks of a worker are unanswered; so neither side can fill a socket, and parent and worker never
wait for each other to read. There are no threads and no locks in the parent.
"""

import multiprocessing
import os
import signal
import sys
import time
import weakref
from collections import deque
from multiprocessing import connection as mp_connection

from thalweg.data import transport
from thalweg.data.worker import worker_main

# An idle worker leaves at once when told to. One that is busy gets this long, then a signal, then a stronger one.
_GRACE_S = 0.3

# Times the largest message (8.5 kB as the kernel counts it) this stays under a socket's usual 208 kB.
_MOST_IN_FLIGHT = 16


class WorkerPool:
    """Workers that answer tasks; see `worker_main` for the messages."""

    def __init__(self, job, context=None):
        context = _start_context(context)
        self._connections, self._processes = [], []
        # Collected, or at exit, whichever is first. It holds the lists and not the pool.
        self._finalizer = weakref.finalize(self, _end_workers, self._connections, self._processes, os.getpid())
        self._arrived = deque()
        self._waiting = [deque() for _ in range(job.num_workers)]  # tasks not sent yet
        self._in_flight = [0] * job.num_workers
        self.epoch = 0
        try:
            for worker_id in range(job.num_workers):
                self._start_worker(context, job, worker_id)
        except BaseException:
            self.close()
            raise

    def _start_worker(self, context, job, worker_id):
        ours, theirs = context.Pipe(duplex=True)
        self._connections.append(ours)
        # A forked child holds all our ends, its own among them: it would never see its socket close.
        inherited = list(self._connections) if context.get_start_method() == "fork" else []
        process = context.Process(
            target=worker_main,
            args=(job, worker_id, theirs, inherited),
            name=f"thalweg-data-{worker_id}",
            daemon=True,
        )
        try:
            process.start()
        finally:
            theirs.close()
        self._processes.append(process)

    @property
    def size(self):
        return len(self._connections)

    def send(self, worker, task):
        """Sends a task to a worker, at once or when the worker has answered some of its earlier ones."""
        self._waiting[worker].append(task)
        self._read_arrived(0)
        self._send_waiting(worker)

    def _send_waiting(self, worker):
        waiting = self._waiting[worker]
        while waiting and self._in_flight[worker] < _MOST_IN_FLIGHT:
            try:
                transport.send(self._connections[worker], waiting.popleft())
            except ConnectionError:
                self._report_death(worker)
            self._in_flight[worker] += 1

    def receive(self, timeout):
        """The next (worker, answer) to arrive; waits up to `timeout` seconds, or for ever if 0.

        Raises RuntimeError for a worker that has died, and when the time is up.
        """
        end = time.monotonic() + timeout if timeout else None
        while not self._arrived:
            left = max(0.0, end - time.monotonic()) if timeout else None
            if not self._read_arrived(left) and timeout and time.monotonic() >= end:
                raise RuntimeError(f"DataLoader: no batch arrived within the timeout of {timeout} s")
        return self._arrived.popleft()

    def _read_arrived(self, timeout):
        """Reads every answer that is there, waiting up to `timeout` for the first; returns whether there was one."""
        if not self._finalizer.alive:
            raise RuntimeError("DataLoader: the workers have been shut down")
        workers = {c: i for i, c in enumerate(self._connections)}
        sentinels = {p.sentinel: i for i, p in enumerate(self._processes)}
        ready = mp_connection.wait([*workers, *sentinels], timeout)
        answered = [workers[c] for c in ready if c in workers]
        for worker in answered:
            try:
                self._arrived.append((worker, transport.receive(self._connections[worker])))
            except (EOFError, ConnectionError):
                self._report_death(worker)
            self._in_flight[worker] -= 1
            self._send_waiting(worker)
        if ready and not answered:  # what a dead worker had sent before counts
            self._report_death(sentinels[ready[0]])
        return bool(answered)

    def _report_death(self, worker):
        process = self._processes[worker]
        process.join(1.0)
        pid, code = process.pid, process.exitcode
        self.close()
        if code is not None and code < 0:
            how = f"was killed by signal {-code} ({signal.strsignal(-code)})"
        else:
            how = f"exited with code {code}"
        raise RuntimeError(f"DataLoader: worker {worker} (pid {pid}) {how} while batches were expected of it")

    def close(self):
        """Ends the workers; returns when all are gone. More than once does no harm."""
        self._finalizer()


def _start_context(context):
    """The way to start processes: the given one, else the one the user set for the program, else fork."""
    if isinstance(context, str):
        return multiprocessing.get_context(context)
    if context is not None:
        return context
    if multiprocessing.get_start_method(allow_none=True) is None and sys.platform.startswith("linux"):
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context()


def _end_workers(connections, processes, owner):
    if os.getpid() != owner:  # the copy of a pool in a forked child
        return
    for connection, process in zip(connections, processes):
        # A worker that is busy reads this later, or is ended below.
        if process.is_alive():
            _send_stop(connection)
    for connection in connections:
        transport.close_quietly(connection)
    for insist in (None, "terminate", "kill"):
        alive = [p for p in processes if p.is_alive()]
        if insist:
            for process in alive:
                getattr(process, insist)()
        end = time.monotonic() + _GRACE_S
        for process in alive:
            process.join(max(0.0, end - time.monotonic()))
    for process in processes:
        process.join()


def _send_stop(connection):
    os.set_blocking(connection.fileno(), False)
    try:
        transport.send(connection, None)
    except OSError:
        pass  # its socket is full or closed: the signal will do
