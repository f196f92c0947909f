"""Workers that fail, die, hang or are left behind, and workers that compute."""

import os
import signal
import subprocess
import sys
import time

import pytest
import thalweg as tw
from thalweg.data import DataLoader, Dataset


class Special(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)


class Trouble(Dataset):
    """Calls `trouble` at index 3."""

    def __init__(self, trouble):
        self.trouble = trouble

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 3:
            self.trouble()
        return i


def fail(exception):
    raise exception


@pytest.mark.parametrize(
    ("thrown", "raised"),
    [
        (ValueError("bad row"), ValueError),
        (KeyError("bad row"), KeyError),
        (StopIteration("bad row"), StopIteration),
        (Special(7, "bad row"), RuntimeError),
        (OSError(2, "bad row"), OSError),
    ],
)
def test_exceptions_arrive_with_their_traceback(thrown, raised):
    batches = iter(DataLoader(Trouble(lambda: fail(thrown)), num_workers=2))
    assert [next(batches).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(raised) as caught:
        next(batches)
    text = str(caught.value)
    assert f"Caught {type(thrown).__name__} in DataLoader worker process 1." in text
    assert "in __getitem__" in text and "bad row" in text and "\n" in text
    assert [b.item() for b in batches] == [4, 5, 6, 7]


def test_exception_of_a_class_that_no_one_else_knows():
    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0(.|\n)*bad row"):
        list(DataLoader(Trouble(lambda: fail(Local("bad row"))), num_workers=1))


def test_batch_that_does_not_pickle():
    with pytest.raises(Exception, match="in DataLoader worker process 0(.|\n)*pickle"):
        list(DataLoader(Trouble(None), num_workers=1, collate_fn=lambda samples: lambda: samples))


def test_init_fn_that_fails():
    with pytest.raises(ZeroDivisionError, match="in DataLoader worker process 0"):
        list(DataLoader(range(4), num_workers=2, worker_init_fn=lambda i: 1 // i))


@pytest.mark.parametrize(
    ("death", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by signal 9"),
        (lambda: os._exit(3), "exited with code 3"),
    ],
)
def test_death_of_a_worker_is_reported(death, how):
    loader = DataLoader(Trouble(death), num_workers=2)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"worker 1 \(pid \d+\) {how}"):
        list(loader)
    assert time.monotonic() - start < 5


def test_persistent_loader_works_again_after_a_death(tmp_path):
    marker = tmp_path / "died"

    def die_once():
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    loader = DataLoader(Trouble(die_once), num_workers=2, persistent_workers=True)
    with pytest.raises(RuntimeError, match="killed"):
        list(loader)
    assert [b.item() for b in loader] == list(range(8))
    loader._pool.close()


def test_timeout():
    loader = DataLoader(Trouble(lambda: time.sleep(60)), num_workers=2, timeout=0.5)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"timeout of 0\.5 s"):
        list(loader)
    assert time.monotonic() - start < 5


def test_left_iterator_ends_busy_workers():
    batches = iter(DataLoader(Trouble(lambda: time.sleep(60)), num_workers=4))
    next(batches)
    processes = list(batches._pool._processes)
    start = time.monotonic()
    del batches
    assert time.monotonic() - start < 2 and not any(p.is_alive() for p in processes)


LEAVE_EARLY = """
import sys
import thalweg as tw
from thalweg.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(tw.rand(1000, 300)), batch_size=16, num_workers=4, persistent_workers=True)
for (x,) in loader:
    print(*(p.pid for p in loader._pool._processes), flush=True)
    break
print("leaving", flush=True)
{leave}
"""


@pytest.mark.parametrize(
    ("leave", "code", "complaint"),
    [("", 0, ""), ("sys.exit(5)", 5, ""), ("raise ValueError('mine')", 1, "ValueError: mine")],
)
def test_program_that_leaves_the_loop_early_ends_at_once(leave, code, complaint):
    program = subprocess.Popen(
        [sys.executable, "-c", LEAVE_EARLY.format(leave=leave)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    pids = [int(pid) for pid in program.stdout.readline().split()]
    assert len(pids) == 4 and program.stdout.readline() == "leaving\n"
    start = time.monotonic()
    _, errors = program.communicate(timeout=30)
    assert time.monotonic() - start < 2
    assert program.returncode == code
    assert errors.strip().splitlines()[-1:] == ([complaint] if complaint else [])
    assert "thalweg" not in errors
    assert not any(is_running(pid) for pid in pids)


def test_workers_go_when_the_program_is_killed():
    program = subprocess.Popen(
        [sys.executable, "-c", LEAVE_EARLY.format(leave="import time; time.sleep(60)")],
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = [int(pid) for pid in program.stdout.readline().split()]
    program.stdout.readline()
    program.kill()
    program.communicate()
    deadline = time.monotonic() + 6
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in pids)


def is_running(pid):
    """Whether the process exists and is more than an entry that waits to be collected."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


FORK_AND_COMPUTE = """
import thalweg as tw
from thalweg.data import DataLoader, Dataset

tw.set_num_threads(4)
x = tw.rand(512, 512)
y = x @ x

class Products(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        tw.set_num_threads({threads})
        product = (x + i) @ x
        return product, product.exp().sum()

want = [(x + i) @ x for i in range(4)]
for _ in range(20):
    assert tw.allclose(x @ x, y)
    for i, (product, total) in enumerate(DataLoader(Products(), batch_size=None, num_workers=2)):
        assert tw.allclose(product, want[i], rtol=1e-4, atol=1e-4), i
print("done")
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_forked_workers_compute(threads):
    script = FORK_AND_COMPUTE.format(threads=threads)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_workers_use_one_thread():
    counts = list(DataLoader(Threads(), batch_size=None, num_workers=2))
    assert counts == [1, 1]


class Threads(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return tw.get_num_threads()
