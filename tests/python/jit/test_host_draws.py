"""Numbers that `random` and NumPy draw inside a compiled function: those of eager mode, in every call."""

import random
import threading

import numpy as np
import pytest
import thalweg as tw


def outcomes(function, compiled, calls=20):
    random.seed(3), np.random.seed(4)
    run = tw.jit(function) if compiled else function
    results = [run(tw.ones(2)) for _ in range(calls)]
    return results, random.random(), np.random.rand(), run


def test_numbers_are_drawn_in_every_call():
    def f(x):
        y = x * random.random() + random.uniform(-1, 1) * np.random.rand()
        y = y + random.randint(0, 9) + np.random.normal(2.0, 0.5) + np.random.randint(5)
        return y, random.gauss(0, 1)

    (expected, *state, _), (result, *static_state, static) = outcomes(f, False), outcomes(f, True)
    for (a, b), (c, d) in zip(expected, result):
        np.testing.assert_allclose(c.numpy(), a.numpy(), rtol=1e-6)
        assert b == d
    assert state == static_state and static.trace_count == 1


def test_a_layer_that_is_skipped_at_random():
    def f(x):
        for i in range(2):
            if random.random() < 0.5:
                x = x * (i + 2)
        return x + random.choice([10, 20])

    (expected, *state, _), (result, *static_state, static) = outcomes(f, False, 50), outcomes(f, True, 50)
    assert [r.tolist() for r in result] == [e.tolist() for e in expected] and state == static_state
    assert len({tuple(r.tolist()) for r in result}) > 2 and static.trace_count <= 8


def test_what_is_no_number_is_an_error_and_draws_nothing():
    for draw in (
        lambda: random.sample(range(4), 2),
        lambda: np.random.permutation(4),
        lambda: np.random.rand(3),
        lambda: random.seed(1),
    ):
        state = random.getstate(), np.random.get_state()[2]
        with pytest.raises(NotImplementedError, match=r"draw .* outside, and give"):
            tw.jit(lambda x: (random.random(), draw()))(tw.ones(1))  # noqa: B023
        assert (random.getstate(), np.random.get_state()[2]) == state
    assert isinstance(random.random(), float) and len(np.random.rand(3)) == 3  # as they were


def test_a_failing_call_draws_nothing():
    f = tw.jit(lambda x, i: x[i] * random.random())
    f(tw.ones(2), tw.tensor([0]))
    state = random.getstate()
    with pytest.raises(IndexError):
        f(tw.ones(2), tw.tensor([7]))
    assert random.getstate() == state
    result = f(tw.ones(2), tw.tensor([1])).item()
    random.setstate(state)
    assert result == pytest.approx(random.random(), rel=1e-6)


def test_other_threads_draw_while_one_traces():
    values = []
    started, done = threading.Event(), threading.Event()

    def draw():
        started.wait(10)
        values.append(random.random())
        done.set()

    thread = threading.Thread(target=draw)
    thread.start()

    @tw.jit
    def f(x):
        started.set()
        done.wait(10)
        return x + random.random()

    f(tw.ones(1))
    thread.join()
    assert type(values[0]) is float
