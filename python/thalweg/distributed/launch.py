"""Starts a program on several processes: `thalweg run`, `python -m thalweg.distributed.launch`.

Every process finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment.
Lines that it prints appear with its rank in front. When one fails, the others get two seconds to notice and are then
ended, and what the failed one has written to stderr comes last. No process outlives the launcher.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO

__all__ = ["add_options", "launch", "main"]

_GRACE_S = 2.0  # after a failure, for the others to end by themselves
_KILL_S = 3.0  # after a polite request, before there is no other way
_KEPT_LINES = 400  # of each process's stderr
_PR_SET_PDEATHSIG = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the launcher's options, under the names of torchrun and of OneFlow's launcher, to a parser."""
    parser.add_argument(
        "--nproc",
        "--nproc-per-node",
        "--nproc_per_node",
        type=_counts,
        default=[1],
        metavar="P",
        help="processes on each machine (1); P,Q,... where they differ",
    )
    parser.add_argument("--nnodes", type=int, default=1, metavar="N", help="machines (1)")
    parser.add_argument("--node-rank", "--node_rank", type=int, default=0, metavar="I", help="number of this one (0)")
    parser.add_argument(
        "--master-addr", "--master_addr", default="127.0.0.1", metavar="HOST", help="where process 0 runs (127.0.0.1)"
    )
    parser.add_argument(
        "--master-port",
        "--master_port",
        type=int,
        metavar="PORT",
        help="a port that is free there (any on one machine, 29500 on several)",
    )
    parser.add_argument(
        "--bind-to",
        "--bind_to",
        choices=("cores", "none"),
        default="cores",
        help="whether each process gets cores of its own where there are enough of them (cores)",
    )
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module, as in python -m")
    parser.add_argument("script", metavar="PROGRAM", help="a Python script or module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="what it gets")


def launch(options: argparse.Namespace) -> int:
    """Runs the program of parsed options; returns 0, or the exit code of the first process that fails."""
    counts = options.nproc if len(options.nproc) > 1 else options.nproc * options.nnodes
    if min(counts, default=0) < 1 or not 0 <= options.node_rank < options.nnodes:
        raise ValueError(
            f"run: processes and machines from 1 on are wanted, got --nproc {_text(options.nproc)}, --nnodes "
            f"{options.nnodes}, --node-rank {options.node_rank}"
        )
    if len(counts) != options.nnodes:
        raise ValueError(
            f"run: one number of processes, or one for each of {options.nnodes} machines, is wanted, got --nproc "
            f"{_text(options.nproc)}"
        )
    if options.master_port is None:
        options.master_port = free_port() if options.nnodes == 1 else 29500
    launcher = _Launcher()
    try:
        launcher.start(options, counts)
        return launcher.watch()
    finally:
        launcher.end()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `python -m thalweg.distributed.launch`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="thalweg.distributed.launch", description=__doc__.splitlines()[0])
    add_options(parser)
    return launch(parser.parse_args(arguments))


def _counts(text: str) -> list[int]:
    return [int(count) for count in text.split(",")]


def _text(counts: list[int]) -> str:
    return ",".join(map(str, counts))


class _Lines:
    """What one process writes to one of its streams, as lines with its rank in front."""

    def __init__(self, rank: int, source: IO[bytes], target: IO[str], kept: collections.deque[str] | None) -> None:
        self.prefix, self.source, self.target, self.kept = f"[rank {rank}] ", source, target, kept
        self.rest = b""
        os.set_blocking(source.fileno(), False)

    def read(self) -> bool:
        """Passes on what is there; False at the end of the stream."""
        try:
            data = os.read(self.source.fileno(), 1 << 16)
        except BlockingIOError:
            return True
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self._pass_on(line)
        self.target.flush()
        return bool(data)

    def drain(self) -> None:
        """Passes on all that has been written by a process that has ended, the last unfinished line too."""
        data = b"..."
        while data:
            try:
                data = os.read(self.source.fileno(), 1 << 16)
            except BlockingIOError:  # a process that it has started holds the stream
                data = b""
            self.rest += data
        *lines, last = self.rest.split(b"\n")
        self.rest = b""
        for line in [*lines, last] if last else lines:
            self._pass_on(line)
        self.target.flush()

    def _pass_on(self, line: bytes) -> None:
        text = line.decode(errors="replace")
        self.target.write(f"{self.prefix}{text}\n")
        if self.kept is not None:
            self.kept.append(text)


class _Process:
    def __init__(self, rank: int, command: list[str], environment: dict[str, str], before: Callable[[], None]) -> None:
        self.rank = rank
        self.errors: collections.deque[str] = collections.deque(maxlen=_KEPT_LINES)
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=before,
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        self.lines = [
            _Lines(rank, self.process.stdout, sys.stdout, None),
            _Lines(rank, self.process.stderr, sys.stderr, self.errors),
        ]
        self.pidfd = os.pidfd_open(self.process.pid)

    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: int) -> None:
        """Sends a signal to the process and all that it has started."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def exit_code(self) -> int:
        code = self.process.returncode
        return code if code >= 0 else 128 - code

    def blames_another(self) -> bool:
        """Whether it seems to have failed because another one had."""
        return any("CommError" in line for line in self.errors)


class _Launcher:
    def __init__(self) -> None:
        self.processes: list[_Process] = []
        self.selector = selectors.DefaultSelector()
        self.stop_signal = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)

    def _note_signal(self, number: int, frame: object) -> None:
        self.stop_signal = number

    def start(self, options: argparse.Namespace, counts: list[int]) -> None:
        command = [sys.executable, *(["-m"] if options.module else []), options.script, *options.arguments]
        for local in range(counts[options.node_rank]):
            environment = _environment(options, counts, local)
            cores = _cores_of(local, counts[options.node_rank]) if options.bind_to == "cores" else None
            started = _Process(int(environment["RANK"]), command, environment, _at_first(os.getpid(), cores))
            self.processes.append(started)
            self.selector.register(started.pidfd, selectors.EVENT_READ, started)
            for lines in started.lines:
                self.selector.register(lines.source, selectors.EVENT_READ, lines)

    def watch(self) -> int:
        """Passes output on until all processes have ended; the exit code."""
        failed: _Process | None = None
        deadlines: list[tuple[float, int]] = []  # when to send which signal
        while any(entry.running() for entry in self.processes):
            ended = self._wait(0.2)
            failures = [entry for entry in ended if entry.process.returncode != 0]
            if failures and failed is None and not self.stop_signal:
                failed = next((entry for entry in failures if not entry.blames_another()), failures[0])
            if (failed or self.stop_signal) and not deadlines:
                first = time.monotonic() + (0 if self.stop_signal else _GRACE_S)
                deadlines = [(first, signal.SIGTERM), (first + _KILL_S, signal.SIGKILL), (float("inf"), 0)]
            while deadlines and time.monotonic() >= deadlines[0][0]:
                self._signal_all(deadlines.pop(0)[1])
        for entry in self.processes:
            for lines in entry.lines:
                lines.drain()
        if self.stop_signal:
            return 128 + self.stop_signal
        failed = failed or next((entry for entry in self.processes if entry.process.returncode != 0), None)
        return _report(failed) if failed else 0

    def _wait(self, seconds: float) -> list[_Process]:
        """Passes on output; the processes that have ended meanwhile, all they have written included."""
        ended = []
        for key, _ in self.selector.select(seconds):
            if isinstance(key.data, _Lines):
                if not key.data.read():
                    self.selector.unregister(key.fileobj)
                continue
            self.selector.unregister(key.fileobj)
            key.data.process.wait()
            for lines in key.data.lines:
                lines.drain()
            ended.append(key.data)
        return ended

    def _signal_all(self, number: int) -> None:
        for entry in self.processes:
            if entry.running():
                entry.signal(number)

    def end(self) -> None:
        """Nothing that was started stays."""
        for entry in self.processes:
            entry.signal(signal.SIGKILL)
            entry.process.wait()
            os.close(entry.pidfd)


def _report(failed: _Process) -> int:
    code = failed.process.returncode
    how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    sys.stdout.flush()
    print(f"thalweg run: rank {failed.rank} failed first, with {how}", file=sys.stderr)
    for line in failed.errors:
        print(line, file=sys.stderr)
    sys.stderr.flush()
    return failed.exit_code()


def _environment(options: argparse.Namespace, counts: list[int], local: int) -> dict[str, str]:
    here = counts[options.node_rank]
    threads = len(_cores_of(local, here) or [0])
    return {
        "OMP_NUM_THREADS": str(threads),
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "RANK": str(sum(counts[: options.node_rank]) + local),
        "LOCAL_RANK": str(local),
        "WORLD_SIZE": str(sum(counts)),
        "LOCAL_WORLD_SIZE": str(here),
        "NODE_RANK": str(options.node_rank),
        "MASTER_ADDR": options.master_addr,
        "MASTER_PORT": str(options.master_port),
    }


def _cores_of(local: int, here: int) -> list[int] | None:
    """The cores of one of the processes here; None where there are fewer cores than processes.

    Linux may wake a process that waited for another on that one's core, though its own idles.
    """
    cores = sorted(os.sched_getaffinity(0))
    return cores[len(cores) * local // here : len(cores) * (local + 1) // here] if here <= len(cores) else None


def _at_first(parent: int, cores: list[int] | None) -> Callable[[], None]:
    """What a child does before the program begins: it asks to be killed with the launcher, and goes to its cores."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def before() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has died already
            os._exit(1)
        if cores:
            os.sched_setaffinity(0, cores)

    return before


def free_port() -> int:
    """A port of this machine that nobody uses: one below those that Linux gives to connections, which come and go."""
    for port in random.SystemRandom().sample(range(20_000, 32_768), 100):
        with contextlib.suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("thalweg run: none of 100 ports from 20000 to 32767 is free")


if __name__ == "__main__":
    sys.exit(main())
