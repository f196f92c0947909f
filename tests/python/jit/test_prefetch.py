"""Batches read ahead: the same batches in the same order, input time hidden, and clean ends of every kind."""

import gc
import subprocess
import sys
import time
import traceback
import weakref

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.data import DataLoader, TensorDataset
from thalweg.nn import functional as F


def native_threads():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("Threads:")).split()[1])


def test_items_come_in_their_order():
    assert list(tw.jit.prefetch(range(100), ahead=3)) == list(range(100))
    assert list(tw.jit.prefetch([])) == []
    items = tw.jit.prefetch("ab")
    assert next(items) == "a" and next(items) == "b"
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(items)


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_so_many_items_are_read_ahead(ahead):
    read = []
    ready = tw.jit.prefetch((read.append(i) or i for i in range(100)), ahead=ahead)
    next(ready)
    deadline = time.monotonic() + 10
    while len(read) < 1 + ahead and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(read) == 1 + ahead  # and not one more
    ready.close()


def test_reading_hides_behind_the_caller():
    def slow(count):
        for i in range(count):
            time.sleep(0.02)
            yield i

    begin = time.perf_counter()
    for _ in tw.jit.prefetch(slow(20)):
        time.sleep(0.02)
    both = time.perf_counter() - begin
    assert both < 20 * 0.02 * 1.8  # one after the other takes twice


def test_a_failure_comes_in_its_turn_with_its_traceback():
    def broken_loader():
        yield 1
        yield 2
        raise KeyError("torn page")

    got = []
    with pytest.raises(KeyError, match="torn page") as failure:
        for item in tw.jit.prefetch(broken_loader()):
            time.sleep(0.02)  # the failure has happened when these are asked for
            got.append(item)
    assert got == [1, 2]
    assert "broken_loader" in "".join(traceback.format_tb(failure.value.__traceback__))


def test_leaving_early_releases_everything():
    class Batch:
        pass

    batches = [Batch() for _ in range(10)]
    alive = weakref.WeakSet(batches)
    before = native_threads()

    def loader():
        while batches:
            yield batches.pop()

    for _ in tw.jit.prefetch(loader(), ahead=2):
        break
    del _
    gc.collect()
    assert native_threads() == before
    assert len(alive) == len(batches)
    with tw.jit.prefetch(iter([Batch()])) as ready:
        pass
    assert list(ready) == []
    assert native_threads() == before


def test_the_caller_s_modes_hold_for_the_loader():
    weight = tw.ones(2, requires_grad=True)

    def loader():
        for _ in range(2):
            yield (weight * 2).requires_grad

    with tw.no_grad():
        assert list(tw.jit.prefetch(loader())) == [False, False]
    assert list(tw.jit.prefetch(loader())) == [True, True]


def test_mistakes_are_errors():
    with pytest.raises(ValueError, match="positive"):
        tw.jit.prefetch([], ahead=0)
    with pytest.raises(TypeError, match="iterable"):
        tw.jit.prefetch(3)


def losses(loop, asynchronous):
    tw.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = tw.randn(22, 4), tw.randint(0, 2, (22,))
    loader = DataLoader(TensorDataset(x, y), batch_size=4)  # the last one is smaller: a program of its own

    @tw.jit(asynchronous=asynchronous)
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    found = []
    for _ in range(3):
        found += loop(step, loader)
    return [loss.item() for loss in found]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_step_over_a_loader_trains_as_a_plain_loop_does(asynchronous):
    plain = losses(lambda step, loader: [step(x, y) for x, y in loader], False)
    over = losses(lambda step, loader: list(step.over(loader)), asynchronous)
    assert len(plain) == 18 and over == plain


def test_a_step_over_single_tensors():
    double = tw.jit(lambda x: 2 * x)
    assert [y.item() for y in double.over(tw.tensor(float(i)) for i in range(3))] == [0, 2, 4]


def test_a_graph_over_a_loader_steps_its_schedule():
    class Fit(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = nn.Linear(1, 1)
            optimizer = optim.SGD(self.model.parameters(), lr=1.0)
            self.schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
            self.add_optimizer(optimizer, lr_sch=self.schedule)

        def build(self, x):
            loss = self.model(x).sum()
            loss.backward()
            return loss

    fit = Fit()
    assert len(list(fit.over([tw.ones(1, 1)] * 3))) == 3
    assert fit.schedule.get_last_lr() == [0.125]


def test_a_process_may_end_in_the_middle():
    code = """
import time
import thalweg as tw

def loader():
    while True:
        time.sleep(0.01)
        yield tw.ones(3)

ready = tw.jit.prefetch(loader())
print(next(ready).sum().item())
step = tw.jit(lambda x: x + 1, asynchronous=True)
step(next(ready))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "3.0\n", "")


def test_numpy_batches_may_reuse_their_memory():
    array = np.zeros(3, np.float32)

    def loader():
        for i in range(4):
            array[:] = i
            yield tw.tensor(array)

    total = tw.jit(lambda x: x.sum(), asynchronous=True)
    assert [y.item() for y in total.over(loader())] == [0, 3, 6, 9]


@pytest.mark.parametrize("way", ["break", "raise", "keep"])
def test_a_script_that_leaves_a_loader_early_ends_at_once(way, tmp_path):
    """With workers kept alive (pytorch/pytorch#81794)."""
    script = tmp_path / "script.py"
    script.write_text(f"""
import time
import thalweg as tw
from thalweg.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(tw.arange(400.0)), batch_size=4, num_workers=2, persistent_workers=True)
step = tw.jit(lambda x: x.sum(), asynchronous=True)
results = step.over(loader)
for total in results:
    print(total.item(), flush=True)
    if {way!r} == "raise":
        raise SystemExit(3)
    if {way!r} == "break":
        del results
    break
open({str(tmp_path / "ended")!r}, "w").write(str(time.time()))
""")
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3 if way == "raise" else 0, "6.0\n", "")
    if way != "raise":
        assert time.time() - float((tmp_path / "ended").read_text()) < 2
