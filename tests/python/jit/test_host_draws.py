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


def test_a_generator_of_ones_own():
    def make(compiled):
        generator = tw.Generator().manual_seed(7)

        def f(x):
            noise = tw.rand(3, generator=generator) + tw.randn(3, generator=generator)
            return x * noise + tw.empty(3).uniform_(-1, 1, generator=generator)

        run = tw.jit(f) if compiled else f
        results = [run(tw.ones(3)).tolist() for _ in range(4)]
        other, generator = generator, tw.Generator().manual_seed(1)
        return results, run(tw.ones(3)).tolist(), other.get_state().tolist(), tw.rand(1).tolist()

    tw.manual_seed(0)
    expected = make(False)
    tw.manual_seed(0)
    assert make(True) == expected


def test_gradients_through_numbers_of_a_generator():
    generators = [tw.Generator().manual_seed(7) for _ in range(2)]
    weights = [tw.ones(4, requires_grad=True) for _ in range(2)]

    def make(weight, generator):
        return lambda x: (x * weight * tw.rand(4, generator=generator)).sum()

    functions = [make(weights[0], generators[0]), tw.jit(make(weights[1], generators[1]))]
    for _ in range(3):
        for function in functions:
            function(tw.ones(4)).backward()
        assert weights[0].grad.tolist() == weights[1].grad.tolist()


def test_generators_as_arguments_and_what_is_refused():
    static = tw.jit(lambda x, generator: x + tw.rand(2, generator=generator))
    for seed in (1, 2, 1):
        generators = [tw.Generator().manual_seed(seed) for _ in range(2)]
        eager = tw.ones(2) + tw.rand(2, generator=generators[0])
        assert static(tw.ones(2), generators[1]).tolist() == eager.tolist()
    generator = tw.Generator()
    with pytest.raises(NotImplementedError, match="second"):
        tw.jit(lambda: tw.rand(1, generator=generator) + tw.rand(1))()
    state = tw.get_rng_state()
    for seeds in (lambda: tw.manual_seed(1), lambda: generator.manual_seed(1), lambda: tw.set_rng_state(state)):
        with pytest.raises(RuntimeError, match="cannot seed a generator"):
            tw.jit(seeds)()
    with pytest.raises(RuntimeError, match="not known in a traced function"):
        tw.jit(tw.get_rng_state)()
