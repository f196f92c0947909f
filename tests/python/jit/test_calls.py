"""Arguments of compiled functions: which values are numbers of the program, which are constants, what is held."""

import copy
import dataclasses
import gc
import math
import pickle
import threading
import weakref

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F


def test_numbers_need_no_trace_of_their_own():
    f = tw.jit(lambda x, a, b=1.0: (x * a + b, a * 2, b if a else None))
    for a, b in ((2, 0.5), (3, -1.5), (-7, math.inf), (2**40, 1e-300)):
        result, double, same = f(tw.ones(2), a, b)
        assert result.tolist() == (tw.ones(2) * a + b).tolist()
        assert (double, same) == (a * 2, b) and type(double) is int and type(same) is float
    assert f.trace_count == 1
    assert f(tw.ones(2), 0)[2] is None and f.trace_count == 2
    with pytest.raises(ValueError, match="beyond 64 bits"):
        f(tw.ones(2), 2**62)
    assert tw.jit(lambda n: n)(2**70) == 2**70
    assert tw.jit(lambda x, a: x + a)(tw.ones(2, dtype=tw.int64), 2.5).dtype == tw.float32


def test_numbers_that_decide_something_are_guarded():
    @tw.jit
    def f(x, n, scale):
        y = x.narrow(0, 0, n)
        for _ in range(n):
            y = y + scale
        return (y if scale > 0 else -y), isinstance(n, int), isinstance(scale, float)

    x = tw.arange(4.0)

    def expected(n, scale):
        y = [v + n * scale for v in range(n)]
        return y if scale > 0 else [-v for v in y]

    for n, scale in ((1, 1.0), (2, 1.0), (2, 3.0), (2, -1.0), (1, 5.0)):
        result, *kinds = f(x, n, scale)
        assert result.tolist() == expected(n, scale) and kinds == [True, True]
    assert f.trace_count == 3
    assert "decides something" in f.explain()


def test_numbers_of_other_types_and_in_containers():
    @dataclasses.dataclass
    class Options:
        scale: float
        name: str

    f = tw.jit(lambda x, options, pair: x * options.scale + pair[0] - pair[1]["b"])
    for i in range(3):
        assert f(tw.ones(1), Options(2.0 + i, "n"), [i, {"b": 1}]).item() == 2 + i + i - 1
    assert f.trace_count == 1
    f(tw.ones(1), Options(2, "n"), [1, {"b": 1}])  # an int now
    f(tw.ones(1), Options(2.0, "m"), [1, {"b": 1}])
    assert f.trace_count == 3
    g = tw.jit(lambda x, flag: x + 1 if flag is True else x + 2)
    assert [g(tw.zeros(()), flag).item() for flag in (True, False, 1, True)] == [1, 2, 2, 1] and g.trace_count == 3


def test_numbers_in_tensors_and_ops():
    def f(x, n, p):
        full = tw.full((2,), p)
        return full, tw.tensor([p, p * 2]), x.pow(n), x.clamp(-p, p), tw.arange(n), F.dropout(x, p, True), tw.tensor(p)

    static = tw.jit(f)
    for n, p in ((2, 0.5), (3, 0.25), (2, 0.125)):
        tw.manual_seed(1)
        expected = f(tw.ones(3) * 2, n, p)
        tw.manual_seed(1)
        for a, b in zip(static(tw.ones(3) * 2, n, p), expected):
            assert a.tolist() == b.tolist() and a.dtype == b.dtype


def test_static_arguments():
    @tw.jit(static_argnames=("n", "options"))
    def f(x, n, options=None):
        return x * n, type(n).__name__

    for call in (lambda n: f(tw.ones(1), n), lambda n: f(tw.ones(1), n=n)):
        for n in (2, 3, 2):
            result, kind = call(n)
            assert result.item() == n and kind == "int"
    assert f.trace_count == 4
    g = tw.jit(lambda x, n: x * n, static_argnums=-1)
    g(tw.ones(1), 2), g(tw.ones(1), 3)
    assert g.trace_count == 2
    f(tw.ones(1), 1, (1, 2)), f(tw.ones(1), 1, (1, 2))
    assert f.trace_count == 5
    with pytest.raises(TypeError, match="static argument must not be a tensor"):
        f(tw.ones(1), tw.ones(1))
    with pytest.raises(TypeError, match="keys of a dict"):
        f(tw.ones(1), [1])
    with pytest.raises(ValueError, match="static_argnames"):
        tw.jit(lambda x: x, static_argnames="y")
    with pytest.raises(ValueError, match="static_argnums"):
        tw.jit(lambda x: x, static_argnums=3)


def test_methods_have_programs_of_their_own_and_are_not_kept():
    class Scaler:
        def __init__(self, factor):
            self.factor = factor
            self.weight = tw.full((2,), float(factor))

        @tw.jit
        def scale(self, x):
            return x * self.weight + self.factor

    a, b = Scaler(2), Scaler(3)
    assert a.scale(tw.ones(2)).tolist() == [4, 4] and b.scale(tw.ones(2)).tolist() == [6, 6]
    assert a.scale(tw.ones(2)).tolist() == [4, 4] and Scaler.scale.trace_count == 2
    a.factor = 10
    assert a.scale(tw.ones(2)).tolist() == [12, 12]
    a.factor = 11  # a number that varies is one of the program
    assert a.scale(tw.ones(2)).tolist() == [13, 13] and Scaler.scale.trace_count == 3
    assert "'factor'" in tw.jit.explain(a.scale)
    gone = weakref.ref(a)
    del a
    assert gone() is None
    method = Scaler(5).scale
    assert method(tw.zeros(2)).tolist() == [5, 5]
    weight = weakref.ref(b.weight)
    del b, method
    gc.collect()
    assert weight() is None and Scaler.scale.programs() == []


def test_a_method_of_a_module_and_a_graph_do_not_keep_it():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        @tw.jit
        def forward(self, x):
            return self.layer(x).detach()

    model = Model()
    x = tw.ones(1, 2)
    assert model(x).tolist() == model.layer(x).tolist() == model(x).tolist() and Model.forward.trace_count == 1
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None

    class Program(nn.Graph):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def build(self, x):
            return self.layer(x).detach()

    graph = Program()
    graph(x), graph(x)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_modules_as_arguments():
    @tw.jit
    def f(module, x):
        return module(x).detach()

    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    x = tw.ones(1, 2)
    for module in (a, b, a, b):
        assert f(module, x).tolist() == module(x).tolist()
    assert f.trace_count == 2
    gone = weakref.ref(a)
    del a, module
    assert gone() is None


@tw.jit
def at_module_level(x):
    return x + 1


def test_compiled_functions_are_copied_and_pickled():
    class Holder:
        def __init__(self):
            self.weight = tw.ones(2)
            self.run = tw.jit(self.scale, static_argnames="n")

        def scale(self, x, n):
            return x * self.weight * n

    holder = Holder()
    holder.run(tw.ones(2), 2)
    other = copy.deepcopy(holder)
    other.weight.fill_(5)
    assert other.run(tw.ones(2), 2).tolist() == [10, 10] and holder.run(tw.ones(2), 2).tolist() == [2, 2]
    assert other.run(tw.ones(2), 3).tolist() == [15, 15] and other.run.trace_count == 2
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level


def test_compiled_functions_inside_others():
    inner = tw.jit(lambda x, n: x * n)

    @tw.jit
    def outer(x, n):
        return inner(x, n) + inner(x, 2)

    for n in (1, 2, 5):
        assert outer(tw.ones(1), n).item() == n + 2
    assert outer.trace_count == 1 and inner.trace_count == 0


def test_calls_from_several_threads():
    weight = nn.Parameter(tw.zeros(4))
    optimizer = tw.optim.SGD([weight], lr=1.0)
    optimizer.param_groups[0]["count"] = 0

    @tw.jit
    def step(x, n):
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()
        optimizer.param_groups[0]["count"] += 1
        return x * n, tw.ones(64, 64) @ tw.ones(64, 64)

    failures = []

    def work(number):
        x = tw.full((4,), float(number))
        for i in range(100):
            result, _ = step(x, i)
            if result.tolist() != [number * i] * 4:
                failures.append((number, i, result.tolist()))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert weight.tolist() == [-600.0] * 4 and optimizer.param_groups[0]["count"] == 400


def test_threads_that_trace_do_not_disturb_others():
    """While one thread traces, modules and optimizers of another run eagerly, or wait for their turn."""
    failures = []

    def work(number):
        layer = nn.Linear(3, 3)
        optimizer = tw.optim.Adam(layer.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            layer(x).sum().backward()
            optimizer.step()

        static = tw.jit(step) if number % 2 else step
        try:
            for i in range(12):
                static(tw.ones(1 + i % 3, 3))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_failing_call_changes_nothing():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tw.ones(2))
            self.register_buffer("seen", tw.zeros(()))
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            self.seen = self.seen + 1
            return x * self.weight

    model = Counting()
    optimizer = tw.optim.Adam(model.parameters(), lr=0.5)
    fail = True

    @tw.jit
    def step(x):
        optimizer.zero_grad()
        model.eval()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        if fail:
            raise KeyError("stop")
        return loss.detach()

    weight, seen = model.weight, model.seen
    with pytest.raises(KeyError):
        step(tw.ones(2))
    assert model.weight is weight and weight.tolist() == [1, 1] and weight.grad is None
    assert model.seen is seen and model.calls == 0 and model.training
    assert len(optimizer.state) == 0 and optimizer.param_groups[0]["lr"] == 0.5
    fail = False
    assert step(tw.ones(2)).item() == 2 and model.calls == 1
    np.testing.assert_allclose(weight.tolist(), [0.5, 0.5], rtol=1e-6)
