"""Numbers that `random` and NumPy draw inside a compiled function: those of eager mode, in every call."""

import random
import threading
from random import random as drawn_alone

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


def test_what_cannot_be_drawn_is_an_error_and_draws_nothing():
    for draw in (
        lambda: random.sample(range(4), 2),
        lambda: np.random.shuffle([1, 2]),
        lambda: np.random.bytes(3),
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
    state = tw.get_rng_state()
    for seeds in (lambda: tw.manual_seed(1), lambda: generator.manual_seed(1), lambda: tw.set_rng_state(state)):
        with pytest.raises(RuntimeError, match="cannot seed a generator"):
            tw.jit(seeds)()
    with pytest.raises(RuntimeError, match="not known in a traced function"):
        tw.jit(tw.get_rng_state)()


def test_generators_beside_each_other():
    def make(compiled):
        first, second = tw.Generator().manual_seed(7), tw.Generator().manual_seed(8)
        weight = tw.ones(3, requires_grad=True)

        def f(x):
            mask = tw.nn.functional.dropout(x * weight, 0.5)
            noise = tw.rand(3, generator=first) + tw.randn(3, generator=second) * tw.rand(3, generator=first)
            (mask * noise * tw.empty(3).uniform_(-1, 1, generator=second)).sum().backward()
            return mask.detach() + noise

        run = tw.jit(f) if compiled else f
        results = [run(tw.ones(3)).tolist() for _ in range(4)]
        return results, weight.grad.tolist(), first.get_state().tolist(), second.get_state().tolist(), tw.rand(1).item()

    tw.manual_seed(0)
    expected = make(False)
    tw.manual_seed(0)
    assert make(True) == expected


def test_generators_beside_each_other_in_the_parts_of_a_batch():
    def make(compiled):
        generators = [tw.Generator().manual_seed(seed) for seed in (1, 2)]

        def part(x):
            return x + tw.rand(x.shape, generator=generators[0]) * tw.rand(x.shape, generator=generators[1])

        run = tw.micro_batches(part, 2)
        run = tw.jit(run) if compiled else run
        return [run(tw.ones(4, 2)).tolist() for _ in range(3)], [g.get_state().tolist() for g in generators]

    assert make(True) == make(False)


def test_two_generators_and_a_loop_whose_draws_nobody_knows():
    generator = tw.Generator()

    def f(x, n):
        x = x + tw.rand(2, generator=generator)
        return tw.while_loop(lambda x, i: i < n, lambda x, i: (x + tw.rand(2), i + 1), (x, tw.tensor(0)))[0]

    with pytest.raises(NotImplementedError, match="all have to come from one generator"):
        tw.jit(f)(tw.ones(2), tw.tensor(2))


def test_arrays_are_drawn_in_every_call():
    def f(x):
        noise = tw.tensor(np.random.rand(3), dtype=tw.float32)
        order = np.random.permutation(3)
        scaled = tw.from_numpy(np.random.normal(size=(2, 3)) * 2 + 1).sum(0)
        picked = np.random.choice(np.arange(10), 2)
        x = x[tw.as_tensor(order)] * noise + scaled.float()
        if np.random.rand(2).max() > 0.5:
            x = x + picked[0]
        return x[order] + float(np.random.standard_normal(4).sum()), tw.tensor(picked)

    (expected, *state, _), (result, *static_state, static) = (
        outcomes(lambda x: f(tw.arange(3.0)), compiled) for compiled in (False, True)
    )
    for (a, b), (c, d) in zip(expected, result, strict=True):
        np.testing.assert_allclose(c.numpy(), a.numpy(), rtol=1e-6)
        assert d.tolist() == b.tolist()
    assert state == static_state


def test_arrays_in_training_steps_in_flight():
    def train(compiled):
        np.random.seed(0)
        weight = tw.zeros(3, requires_grad=True)
        optimizer = tw.optim.SGD([weight], lr=0.1)

        def step():
            optimizer.zero_grad()
            loss = ((weight - tw.tensor(np.random.rand(3), dtype=tw.float32)) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = tw.jit(step, asynchronous=True) if compiled else step
        return [loss.item() for loss in [run() for _ in range(20)]]

    assert train(True) == pytest.approx(train(False), rel=1e-5)


def test_generators_of_numpy_and_functions_imported_by_themselves():
    class Model:
        def __init__(self):
            self.rng = np.random.default_rng(3)

        def run(self, x):
            return x * self.rng.uniform(0, 1) + tw.tensor(self.rng.random(2)).float()

    def make(compiled):
        random.seed(1)
        rng, own, old = np.random.default_rng(5), random.Random(4), np.random.RandomState(2)
        model = Model()

        def f(x, given):
            x = x + rng.normal() + tw.tensor(rng.integers(0, 9, 2)) + own.random() * old.rand()
            return x * drawn_alone() + model.run(x) + given.standard_normal()

        given = np.random.default_rng(9)
        functions = [f, model.run, lambda x: x + rng.permuted(np.arange(2.0))[0]]
        functions = [tw.jit(function) for function in functions] if compiled else functions
        results = []
        for _ in range(5):
            results.append(functions[1](tw.ones(2)).tolist())
            results.append(functions[2](tw.ones(2)).tolist())
        return results, [rng.random(), model.rng.random(), own.random(), old.rand(), given.random()], functions

    (expected, states, _), (result, static_states, functions) = make(False), make(True)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert static_states == states and [f.trace_count for f in functions[1:]] == [1, 1]
    assert isinstance(drawn_alone(), float)


def test_objects_that_draw_beside_each_other():
    def make(compiled):
        rng, own, old = np.random.default_rng(5), random.Random(4), np.random.RandomState(2)
        random.seed(1)

        def f(x, given):
            x = x + rng.normal() + tw.tensor(rng.integers(0, 9, 2)) + own.random() * old.rand()
            return x * drawn_alone() + given.standard_normal()

        given = np.random.default_rng(9)
        run = tw.jit(f) if compiled else f
        results = [run(tw.ones(2), given).tolist() for _ in range(5)]
        rng = np.random.default_rng(6)  # another one is another program
        results.append(run(tw.ones(2), given).tolist())
        return results, [g.random() for g in (rng, given, own)], old.rand()

    (expected, *states), (result, *static_states) = make(False), make(True)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert static_states == states


def test_what_draws_behind_the_back_of_a_trace_is_an_error():
    namespace = {}
    exec("from random import random as other\ndef f(x):\n    return x * other()", namespace)
    assert tw.jit(namespace["f"])(tw.ones(1)).item() != tw.jit(namespace["f"])(tw.ones(1)).item()
    helper = {}
    exec("from random import random as other\ndef h(x):\n    return x * other()", helper)
    h = helper["h"]
    with pytest.raises(NotImplementedError, match=r"random: a traced function draws .* does not see"):
        tw.jit(lambda x: h(x))(tw.ones(1))


def test_what_arrays_that_are_drawn_refuse():
    for use, error, match in (
        (lambda a: np.asarray(a), NotImplementedError, "np.asarray"),
        (lambda a: a.sort(), NotImplementedError, r"sort\(\)"),
        (lambda a: a.__setitem__(0, 1), NotImplementedError, "writing to an item"),
        (lambda a: a, TypeError, r"return a tensor of it"),
        (lambda a: np.add(a, a, out=a), NotImplementedError, "in place"),
    ):
        with pytest.raises(error, match=match):
            tw.jit(lambda: use(np.random.rand(3)))()  # noqa: B023

    def data_dependent():
        a = np.random.rand(8)
        return tw.tensor(a[a > 0.5])

    static = tw.jit(data_dependent)
    np.random.seed(0)
    with pytest.raises(NotImplementedError, match="an array keeps its shape and dtype"):
        for _ in range(20):
            static()

    def in_a_loop(x):
        return tw.scan(lambda c, part: (c + part * random.random(), None), x.sum(), x)[0]

    with pytest.raises(NotImplementedError, match="nothing is drawn by the host"):
        tw.jit(in_a_loop)(tw.ones(3))
