"""Functions of the host that run after each call: `tw.jit.callback` and `tw.jit.debug_print`."""

import pytest
import thalweg as tw
from thalweg import nn


def test_callbacks_run_after_the_call_in_order():
    seen = []
    table = tw.zeros(2)

    @tw.jit
    def f(x, n):
        table.add_(x)
        tw.jit.callback(lambda *args, **kwargs: seen.append((args, kwargs, table.tolist())), x.sum(), n * 2, key=[x])
        tw.jit.debug_print("{:.1f} {n}", x.mean(), n=n)
        return x * n

    assert f(tw.ones(2), 3).tolist() == [3, 3] and f(tw.zeros(2), 4).tolist() == [0, 0] and f.trace_count == 1
    (args, kwargs, then), (args2, _, then2) = seen
    assert args[0].item() == 2 and args[1] == 6 and kwargs["key"][0].tolist() == [1, 1] and then == [1, 1]
    assert args2[1] == 8 and then2 == [1, 1]


def test_debug_print_prints(capsys):
    f = tw.jit(lambda x: tw.jit.debug_print("{:.1f} and {b}", x.sum(), b="b"))
    f(tw.ones(2)), f(tw.ones(2) * 2)
    tw.jit.debug_print("{}", 5)
    assert capsys.readouterr().out == "2.0 and b\n4.0 and b\n5\n"


def test_a_callback_that_raises_loses_nothing():
    table = tw.zeros(1)

    def stop(total):
        if total.item() > 1:
            raise RuntimeError("too much")

    @tw.jit
    def f(x):
        table.add_(x)
        tw.jit.callback(stop, x.sum())
        return x

    f(tw.ones(1))
    with pytest.raises(RuntimeError, match="too much"):
        f(tw.ones(1) * 2)
    assert table.item() == 3
    f(tw.ones(1))
    assert table.item() == 4 and f.trace_count == 1


def test_a_callback_may_call_the_function():
    results = []

    @tw.jit
    def f(x):
        tw.jit.callback(lambda total: results.append(total.item()) or (total < 3 and f(total + 1)), x.sum())
        return x

    f(tw.ones(()))
    assert results == [1, 2, 3] and f.trace_count == 1


def test_results_that_are_differentiated_come_with_callbacks():
    seen = []
    weight = nn.Parameter(tw.ones(2))

    @tw.jit
    def f(x):
        y = x * weight
        tw.jit.callback(lambda y: seen.append(y.requires_grad), y)
        return y

    for _ in range(2):
        f(tw.ones(2)).sum().backward()
    assert weight.grad.tolist() == [2, 2] and seen == [False, False]
