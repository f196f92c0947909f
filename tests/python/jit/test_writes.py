"""Writes to arguments in place: seen by the caller, whatever shares memory with whatever."""

import numpy as np
import pytest
import thalweg as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from thalweg import nn
from thalweg.nn import functional as F


def test_the_argument_is_written_and_its_version_advances():
    @tw.jit
    def f(x, y):
        x.mul_(2).add_(y)
        x[0] = 7.0
        return x.sum(), x

    for scale in (1.0, 3.0):
        x, y = tw.arange(3.0) * scale, tw.ones(3)
        version = x._version
        total, same = f(x, y)
        assert x.tolist() == [7, 2 * scale + 1, 4 * scale + 1] and total.item() == sum(x.tolist())
        assert same is x and x._version > version and y._version == 0
    assert f.trace_count == 1


def test_adding_a_mean_to_the_argument():
    def f(x, y):
        x += y.mean()
        return x * 1

    x, z, y = tw.ones(2, 3), tw.ones(2, 3), tw.arange(6.0).reshape(2, 3)
    assert f(x, y).tolist() == tw.jit(f)(z, y).tolist() and x.tolist() == z.tolist()


def test_an_op_that_returns_its_input_itself():
    layer = nn.Dropout(0.5).eval()
    static = tw.jit(lambda x: layer(x).mul_(2))
    for _ in range(2):
        x = tw.ones(2, 2)
        result = static(x)
        assert x.tolist() == result.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tw.arange(12.0).reshape(3, 4).t(),
        lambda: tw.arange(24.0).reshape(2, 3, 4).permute(1, 2, 0),
        lambda: tw.arange(24.0).reshape(4, 6)[1:3],
        lambda: tw.arange(24.0).reshape(4, 6)[:, ::2],
        lambda: tw.arange(24.0).reshape(4, 6)[1:, 2:4].t(),
        lambda: tw.arange(16.0).reshape(1, 4, 2, 2).to(memory_format=tw.channels_last),
    ],
)
def test_views_and_other_orders_of_memory(make):
    def f(x):
        x.mul_(3)
        x[0].sub_(1)
        x.view_as(x).add_(x.clone())
        return x.sum(0)

    static = tw.jit(f)
    for _ in range(2):
        a, b = make(), make()
        bases = [t if t._base is None else t._base for t in (a, b)]
        assert f(a).tolist() == static(b).tolist() and a.tolist() == b.tolist()
        assert bases[0].tolist() == bases[1].tolist() and a.stride() == b.stride()
    assert static.trace_count == 1


def test_errors_are_those_of_eager_mode():
    def write(x):
        x.add_(1)

    expanded = tw.ones(1).expand(3)
    frozen = np.ones(3, dtype=np.float32)
    frozen.flags.writeable = False
    for argument in (nn.Parameter(tw.ones(3)), expanded, tw.from_numpy(frozen)):
        messages = []
        for function in (write, tw.jit(write)):
            with pytest.raises(RuntimeError) as caught:
                function(argument)
            messages.append(str(caught.value))
        assert messages[0] == messages[1] and argument.tolist() == [1, 1, 1]
    weight = nn.Parameter(tw.ones(3))
    with tw.no_grad():
        tw.jit(write)(weight)
    assert weight.tolist() == [2, 2, 2]


def test_written_values_that_would_go_on_on_the_tape_are_refused():
    weight = nn.Parameter(tw.ones(2))
    static = tw.jit(lambda buffer: buffer.copy_(weight * 2).sum())
    with pytest.raises(NotImplementedError, match="detach"):
        static(tw.zeros(2))
    detached = tw.jit(lambda buffer: buffer.copy_((weight * 2).detach()).sum())
    buffer = tw.zeros(2)
    assert detached(buffer).item() == 4 and buffer.tolist() == [2, 2]


def test_the_same_memory_twice():
    def f(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y

    static = tw.jit(f)

    def check(make):
        (a, b, base), (c, d, other) = make(), make()
        assert f(a, b).tolist() == static(c, d).tolist() and base.tolist() == other.tolist()

    def apart():
        x, y = tw.arange(4.0), tw.ones(4)
        return x, y, x

    def same():
        x = tw.arange(4.0)
        return x, x, x

    def overlapping(shift):
        base = tw.arange(8.0)
        return base[:4], base[shift : shift + 4], base

    def alias():
        x = tw.arange(4.0)
        return x, x.view(-1), x

    for _ in range(2):
        for make in (apart, same, alias, lambda: overlapping(2), lambda: overlapping(4), lambda: overlapping(1)):
            check(make)
    assert static.trace_count <= 6


def test_memory_that_is_read_only_may_be_shared():
    static = tw.jit(lambda x, y: x + y)
    base = tw.arange(4.0)
    static(base[:2], base[2:]), static(base[:2].clone(), base[2:]), static(base[:2], base[1:3])
    assert static.trace_count == 1


@pytest.mark.parametrize("write_argument", [True, False])
def test_an_argument_that_is_a_variable(write_argument):
    def make():
        table = tw.arange(4.0)

        def f(x):
            (x if write_argument else table).add_(1)
            return table * 2 + x.sum()

        return table, f

    (a, eager), (b, f) = make(), make()
    static = tw.jit(f)
    for window in (lambda t: tw.ones(4), lambda t: t, lambda t: t.view(4), lambda t: t[:], lambda t: t.flip(0)):
        for _ in range(2):
            assert eager(window(a)).tolist() == static(window(b)).tolist() and a.tolist() == b.tolist()


def test_a_cache_of_keys_and_values():
    """Decoding with a cache that is written in place: one program for all positions."""
    tw.manual_seed(0)
    query, key = nn.Linear(8, 8), nn.Linear(8, 8)

    def step(x, cache, position):
        cache[:, position] = key(x).detach().unsqueeze(0)
        scores = query(x).detach() @ cache.transpose(1, 2)[0]
        return F.softmax(scores, -1)

    static = tw.jit(lambda x, cache, position: step(x, cache, position))
    caches = [tw.zeros(1, 4, 8), tw.zeros(1, 4, 8)]
    for i in range(4):
        x = tw.randn(1, 8)
        expected, result = step(x, caches[0], tw.tensor([i])), static(x, caches[1], tw.tensor([i]))
        np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-6)
        assert caches[0].tolist() == caches[1].tolist()
    assert static.trace_count == 1


def test_a_failing_run_leaves_the_argument():
    def f(x, index):
        x.add_(1)
        return x[index]

    static = tw.jit(f)
    x = tw.zeros(3)
    static(x, tw.tensor([0]))
    with pytest.raises(IndexError):
        static(x, tw.tensor([5]))
    assert x.tolist() == [1, 1, 1]
    static(x, tw.tensor([2]))
    assert x.tolist() == [2, 2, 2]


def test_gradients_beside_writes():
    weight = nn.Parameter(tw.ones(3))

    @tw.jit
    def f(x, count):
        count.add_(1)
        return (x * weight).sum()

    x, count = tw.arange(3.0, requires_grad=True), tw.zeros(())
    for _ in range(2):
        f(x, count).backward()
    assert count.item() == 2 and weight.grad.tolist() == [0, 2, 4] and x.grad.tolist() == [2, 2, 2]


WINDOWS = {
    "whole": lambda base: base,
    "first": lambda base: base[:3],
    "last": lambda base: base[2:],
    "turned": lambda base: base.t(),
    "gaps": lambda base: base[:, ::2],
    "row": lambda base: base[1],
    "flat": lambda base: base.view(-1),
    "own": lambda base: base.clone(),
}
WRITES = {
    "add": lambda t, o: t.add_(o.sum()),
    "mul": lambda t, o: t.mul_(-0.5),
    "fill": lambda t, o: t.select(0, 0).fill_(2.0),
    "read": lambda t, o: t + o.sum(),
    "assign": lambda t, o: t.__setitem__(0, o.mean()),
}


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(WINDOWS)), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from(sorted(WRITES)), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5),
    st.lists(st.sampled_from(sorted(WINDOWS)), min_size=3, max_size=3),
)
def test_random_windows_of_one_memory(windows, steps, others):
    """Two kinds of calls in turn, with arguments and an outside tensor that overlap in every way."""
    bases = [tw.linspace(-1, 1, 16).reshape(4, 4) for _ in range(2)]
    used = tw.jit(lambda *args: run(bases[1], *args))

    def run(outside, *args):
        tensors = [*args, outside]
        results = [WRITES[name](tensors[i % len(tensors)], tensors[j % len(tensors)]) for name, i, j in steps]
        return [result for result in results if isinstance(result, tw.Tensor)]

    for names in (windows, windows, others[: len(windows)], windows):
        with tw.no_grad():
            a, b = ([WINDOWS[name](base) for name in names] for base in bases)
            expected, result = run(bases[0], *a), used(*b)
        np.testing.assert_allclose(bases[1].numpy(), bases[0].numpy(), rtol=1e-5, atol=1e-6)
        for left, right in zip(a + expected, b + result):
            np.testing.assert_allclose(right.numpy(), left.numpy(), rtol=1e-5, atol=1e-6)


def test_a_tensor_becomes_a_view_of_itself_or_of_another_that_is_written_too():
    x, y, z = (tw.arange(16.0).reshape(4, 4) + i for i in (0, 100, 200))

    def turn():
        old = y.T.clone()
        x.copy_(x.T.clone())
        y.copy_(z.T.clone())
        z.copy_(old)

    expected = [x.T.tolist(), z.T.tolist(), y.T.tolist()]
    tw.jit(turn)()
    assert [x.tolist(), y.tolist(), z.tolist()] == expected
    turned = tw.jit(lambda x: tw.scan(lambda h, _: (h.T, None), x, length=3)[0])(x)
    assert turned.tolist() == x.T.tolist()
