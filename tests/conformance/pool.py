"""Drives worker processes: one unit at a time each, within a time limit; a crash or hang is recorded and survived."""

import json
import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from .worker import PLACE_BYTES

PACKAGE = Path(__file__).resolve().parent
START_SECONDS = 180


class WorkerLost(Exception):
    """The worker died or was stopped; the message says where it stood."""


class Worker:
    def __init__(self, stderr=subprocess.DEVNULL):
        self._place = tempfile.NamedTemporaryFile(prefix="conformance-", delete=True)
        self._place.write(b"\0" * PLACE_BYTES)
        self._place.flush()
        self._stderr = stderr
        self._process = None

    def _start(self):
        module = f"{__package__}.worker"
        path = [str(PACKAGE.parents[len(__package__.split(".")) - 1]), os.environ.get("PYTHONPATH", "")]
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in path if p))
        self._process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", module, self._place.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=env,
        )
        answer = self._read(START_SECONDS)
        if "error" in answer:
            self.stop()
            raise SystemExit(f"conformance: {answer['error']}")

    def _where(self):
        return Path(self._place.name).read_bytes().split(b"\0")[0].decode(errors="replace") or "start"

    def _read(self, seconds):
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if ready else None
        if line:
            return json.loads(line)
        if ready:
            code = self._process.wait()
            self._process = None
            raise WorkerLost(f"the process ended with {code} at {self._where()}")
        self.stop()
        raise WorkerLost(f"no answer in {seconds} s at {self._where()}")

    def run(self, unit, seconds):
        """The worker's answer: {"result"} or {"error"}."""
        try:
            if self._process is None:
                self._start()
            self._process.stdin.write((json.dumps(unit) + "\n").encode())
            self._process.stdin.flush()
            return self._read(seconds)
        except WorkerLost as e:
            return {"error": str(e)}
        except BrokenPipeError:
            self.stop()
            return {"error": f"the process ended at {self._where()}"}

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def run_all(units, jobs, seconds, done, stderr=subprocess.DEVNULL, first=None):
    """Runs every unit on `jobs` workers (`first` is one already started), calling done(unit, answer) as each ends."""
    waiting = queue.SimpleQueue()
    for unit in units:
        waiting.put(unit)
    lock = threading.Lock()
    fatal = []

    def loop(worker):
        try:
            while not fatal:
                unit = waiting.get_nowait()
                answer = worker.run(unit, seconds)
                with lock:
                    done(unit, answer)
        except queue.Empty:
            pass
        except BaseException as e:
            fatal.append(e)
        finally:
            worker.stop()

    workers = [first or Worker(stderr)] + [Worker(stderr) for _ in range(jobs - 1)]
    threads = [threading.Thread(target=loop, args=(w,), daemon=True) for w in workers]
    for t in threads:
        t.start()
    try:
        for t in threads:
            t.join()
    finally:
        for w in workers:
            w.stop()
    if fatal:
        raise fatal[0]
