"""Asynchronous programs: the same numbers, values when they are read, failures told once."""

import gc
import os
import resource
import threading
import time

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.nn import functional as F


def training(asynchronous, steps=12, dropout=0.2):
    """Losses and parameters of a few steps."""
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(dropout), nn.Linear(32, 4))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    @tw.jit(asynchronous=asynchronous)
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    data = tw.Generator().manual_seed(3)
    losses = []
    for _ in range(steps):
        x, y = tw.randn(16, 8, generator=data), tw.randint(0, 4, (16,), generator=data)
        losses.append(step(x, y))
    return [loss.item() for loss in losses], [p.detach().numpy().copy() for p in model.parameters()]


def busy(n=160):
    """A program that takes some milliseconds, and its argument."""
    x = tw.randn(n, n) / n

    def f(x):
        for _ in range(60):
            x = x @ x + 1e-3
        return x

    return f, x


def test_training_gives_the_same_numbers():
    now, later = training(False), training(True)
    assert now[0] == later[0]
    for a, b in zip(now[1], later[1]):
        np.testing.assert_array_equal(a, b)


def test_a_call_returns_before_the_step_has_run():
    f, x = busy()
    compiled = tw.jit(f, asynchronous=True)
    expected = f(x)
    compiled(x)
    tw.synchronize()
    shares = []
    for _ in range(10):  # the machine may have other work in between
        begin = time.perf_counter()
        y = compiled(x)
        called = time.perf_counter() - begin
        value = y.numpy()
        shares.append(called / (time.perf_counter() - begin))
        np.testing.assert_allclose(value, expected.numpy(), rtol=1e-5)
    assert min(shares) < 0.9  # reading takes no time where the call has waited


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y[0, 0].item(),
        lambda y: y.numpy()[0, 0],
        lambda y: (y + 0).tolist()[0][0],
        lambda y: float(str(y[0, 0].item())),
        lambda y: y.clone().numpy()[0, 0],
        lambda y: y.detach().view(-1).numpy()[0],
        lambda y: np.from_dlpack(y)[0, 0],
    ],
)
def test_whatever_reads_a_result_waits(read):
    f, x = busy()
    expected = f(x)[0, 0].item()
    assert read(tw.jit(f, asynchronous=True)(x)) == pytest.approx(expected, rel=1e-5)


def test_eager_code_waits_for_variables_and_arguments():
    f, x = busy()
    state = tw.zeros(160, 160)

    @tw.jit(asynchronous=True)
    def step(x):
        state.add_(f(x))

    once = f(x).numpy()
    step(x)
    np.testing.assert_allclose(state.numpy(), once, rtol=1e-5)
    step(x)
    state.mul_(2)  # after the step
    np.testing.assert_allclose(state.numpy(), 4 * once, rtol=1e-5)
    given = x.clone()
    step(given)
    given.zero_()  # after the step has read it
    np.testing.assert_allclose(state.numpy(), 5 * once, rtol=1e-5)


def test_memory_of_numpy_is_copied():
    f, x = busy()
    expected = f(x).numpy()
    array = x.numpy().copy()
    compiled = tw.jit(f, asynchronous=True)
    compiled(tw.from_numpy(array))
    y = compiled(tw.from_numpy(array))
    array[:] = 0
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


def test_programs_follow_each_other_in_the_order_of_calls():
    f, x = busy()
    total = tw.zeros(())
    first = tw.jit(lambda x: total.add_(f(x).sum() * 0 + 1), asynchronous=True)
    second = tw.jit(lambda: total.mul_(3), asynchronous=True)
    plain = tw.jit(lambda: total + 1)
    first(x)
    second()
    first(x)
    assert plain().item() == 5
    assert total.item() == 4


def test_gradients_of_asynchronous_functions():
    weight = tw.randn(8, 8, requires_grad=True)
    x = tw.randn(4, 8)
    compiled = tw.jit(lambda x: (x @ weight).tanh().sum(), asynchronous=True)
    compiled(x).backward()
    got = weight.grad.numpy().copy()
    weight.grad = None
    (x @ weight).tanh().sum().backward()
    np.testing.assert_allclose(got, weight.grad.numpy(), rtol=1e-5)


class Lookup:
    """A program that fails for an index out of bounds, and counts its runs."""

    def __init__(self):
        self.runs = tw.zeros(())
        table = tw.arange(4.0)
        self.compiled = tw.jit(self._run, asynchronous=True, steps_in_flight=4)
        self._table = table

    def _run(self, i):
        value = self._table[i]
        self.runs.add_(1)
        return value

    def __call__(self, *indices):
        return self.compiled(tw.tensor(indices))


def test_a_failure_is_told_by_synchronize_and_only_once():
    lookup = Lookup()
    lookup(1)
    lookup(9)
    with pytest.raises(IndexError, match="test_in_flight.py"):
        tw.synchronize()
    tw.synchronize()
    assert lookup(2).item() == 2
    assert lookup.runs.item() == 2  # the one that failed has left the variable alone


def test_a_failure_is_told_by_the_next_call_which_then_works():
    lookup = Lookup()
    lookup(9)
    time.sleep(0.2)
    with pytest.raises(IndexError):
        lookup(1)
    assert lookup(1).item() == 1


def test_results_of_failed_steps_never_read_as_values():
    lookup = Lookup()
    lookup(0)
    tw.synchronize()
    bad = lookup(9)
    with pytest.raises(IndexError):
        tw.synchronize()
    for _ in range(2):
        with pytest.raises(IndexError):
            bad.item()
        with pytest.raises(IndexError):
            bad + 1
    with pytest.raises(IndexError):
        tw.jit(lambda x: x + 1, asynchronous=True)(bad)
    assert lookup(3).item() == 3


def test_steps_in_flight_after_a_failure_do_not_run():
    f, x = busy()
    slow = tw.jit(f, asynchronous=True)
    slow(x)
    lookup = Lookup()
    lookup(0)
    tw.synchronize()
    before = lookup.runs.item()
    slow(x)  # keeps the thread busy while the next one is called
    bad = lookup(9)
    with pytest.raises(IndexError):  # by reading, or by the call where the failure is there already
        lookup(0).item()
    with pytest.raises(IndexError):
        bad.item()
    tw.synchronize()
    assert lookup.runs.item() == before
    assert lookup(0).item() == 0


def test_a_variable_tells_a_failure_once_and_is_as_it_was():
    lookup = Lookup()
    lookup(1)
    lookup(9)
    with pytest.raises(IndexError):
        lookup.runs.item()
    assert lookup.runs.item() == 1


def test_at_most_so_many_steps_are_in_flight():
    f, x = busy()
    compiled = tw.jit(f, asynchronous=True, steps_in_flight=1)
    compiled(x)
    tw.synchronize()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        compiled(x).numpy()
        times.append(time.perf_counter() - begin)
    one = min(times)
    begin = time.perf_counter()
    for _ in range(6):
        compiled(x)
    called = time.perf_counter() - begin
    tw.synchronize()
    assert called > 3 * one / 2  # five of the six have had their turn
    with pytest.raises(ValueError, match="positive"):
        tw.jit(f, asynchronous=True, steps_in_flight=0)


def test_a_graph_may_be_asynchronous():
    class Fit(nn.Graph):
        def __init__(self):
            super().__init__(asynchronous=True)
            self.model = nn.Linear(1, 1)
            self.add_optimizer(optim.SGD(self.model.parameters(), lr=0.5))

        def build(self, x, y):
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            return loss

    fit, x = Fit(), tw.linspace(-1, 1, 8).unsqueeze(1)
    for _ in range(100):
        fit(x, 3 * x + 1)
    assert fit.state_dict()["model"]["weight"].item() == pytest.approx(3, abs=1e-2)


def test_programs_may_go_while_they_run():
    f, x = busy()
    y = tw.jit(f, asynchronous=True)(x)
    gc.collect()
    np.testing.assert_allclose(y.numpy(), f(x).numpy(), rtol=1e-5)


def test_a_fork_waits_and_the_child_can_run_steps():
    f, x = busy()
    compiled = tw.jit(f, asynchronous=True)
    y = compiled(x)
    expected = f(x).numpy()
    child = os.fork()
    if child == 0:
        same = np.allclose(y.numpy(), expected, rtol=1e-5) and np.allclose(compiled(x).numpy(), expected, rtol=1e-5)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


def test_many_threads_call_and_read():
    f, x = busy(64)
    compiled = tw.jit(f, asynchronous=True)
    expected = f(x).numpy()
    compiled(x)
    wrong = []

    def work():
        for _ in range(20):
            if not np.allclose(compiled(x).numpy(), expected, rtol=1e-5):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_steps_in_flight_leak_nothing():
    weight = tw.zeros(64, 64)

    @tw.jit(asynchronous=True)
    def step(x):
        weight.mul_(0.5).add_(x)
        return weight.sum()

    x = tw.ones(64, 64)
    for _ in range(300):
        step(x)
    tw.synchronize()
    before, used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, tw.cpu.memory_stats()["allocated_bytes"]
    for _ in range(3000):
        loss = step(x)
    tw.synchronize()
    assert loss.item() == pytest.approx(2 * 64 * 64)
    del loss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB
    assert tw.cpu.memory_stats()["allocated_bytes"] - used <= 64 * 1024


def test_callbacks_run_beside_later_steps():
    f, x = busy()
    seen, release = [], threading.Event()

    def look(step, total):
        release.wait(10)
        seen.append((step.item(), total.item(), threading.get_ident()))

    count = tw.zeros(())

    @tw.jit(asynchronous=True)
    def step(x):
        count.add_(1)
        tw.jit.callback(look, count, f(x).sum())

    for _ in range(4):
        step(x)  # none of them waits for the callback of the first
    assert count.item() == 4
    assert seen == []
    release.set()
    tw.synchronize()
    total = f(x).sum().item()
    assert [step for step, _, _ in seen] == [1, 2, 3, 4]  # the count of its own step, whatever came after
    assert all(value == pytest.approx(total, rel=1e-5) for _, value, _ in seen)
    assert threading.get_ident() not in {thread for _, _, thread in seen}


def test_a_callback_that_raises_is_told_once():
    def look(value):
        if value.item() == 2:
            raise KeyError("two")
        seen.append(value.item())

    seen = []
    step = tw.jit(lambda x: tw.jit.callback(look, x * 2), asynchronous=True)
    step(tw.tensor(0.0))
    step(tw.tensor(1.0))
    with pytest.raises(KeyError, match="two"):
        tw.synchronize()
    tw.synchronize()
    step(tw.tensor(2.0))
    tw.synchronize()
    assert seen == [0, 4]


def test_a_failed_step_has_no_callbacks():
    seen = []
    table = tw.arange(4.0)

    def f(i):
        value = table[i]
        tw.jit.callback(lambda value: seen.append(value.item()), value)
        return value

    step = tw.jit(f, asynchronous=True)
    step(tw.tensor([1]))
    tw.synchronize()
    step(tw.tensor([9]))
    with pytest.raises(IndexError):
        tw.synchronize()
    tw.synchronize()
    step(tw.tensor([2]))
    tw.synchronize()
    assert seen == [1, 2]


def test_a_callback_may_call_and_wait():
    inner = tw.jit(lambda x: tw.jit.callback(lambda x: seen.append(x.item()), x + 1), asynchronous=True)
    seen = []

    def look(x):
        inner(x)
        tw.synchronize()

    outer = tw.jit(lambda x: tw.jit.callback(look, x), asynchronous=True)
    for i in range(3):
        outer(tw.tensor(float(i)))
    tw.synchronize()
    assert seen == [1, 2, 3]
