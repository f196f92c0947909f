"""Random programs of views, writes and arithmetic give in a compiled function what they give in eager mode."""

import numpy as np
import thalweg as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from random_steps import MAKES, SHAPE, STEP, VIEWS, WRITES, assert_same


def run(steps, argument, outside):
    """Applies the steps to a growing list of tensors; returns all of them."""
    tensors = [argument * 1.0, outside]
    for kind, name, i, j in steps:
        target, other = tensors[i % len(tensors)], tensors[j % len(tensors)]
        if kind == "view":
            tensors.append(VIEWS[name](target, j))
        elif kind == "write":
            WRITES[name](target, other)
        else:
            tensors.append(MAKES[name](target, other))
    return tensors[2:]


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=14))
def test_programs_without_gradients(steps):
    values = np.linspace(-1, 1, 24, dtype=np.float32).reshape(SHAPE)
    outside = [tw.tensor(values[::-1].copy()) for _ in range(2)]
    static = tw.jit(lambda x: run(steps, x, outside[1]))
    for call in range(2):
        argument = tw.tensor(values + call)
        expected = run(steps, argument, outside[0])
        results = static(argument)
        for a, b in zip(expected, results):
            assert_same(b.numpy(), a.numpy())
        assert_same(outside[1].numpy(), outside[0].numpy())


@settings(max_examples=100, deadline=None)
@given(st.lists(STEP, max_size=10))
def test_gradients_of_programs(steps):
    values = np.linspace(-1, 1, 24, dtype=np.float32).reshape(SHAPE)

    def f(x):
        results = run(steps, x, tw.full(SHAPE, 0.5))
        total = sum((t.sum() for t in results), x.sum())
        return total.detach(), tw.autograd.grad(total, x)[0]

    def outcome(function):
        try:
            return [t.numpy() for t in function(tw.tensor(values, requires_grad=True))]
        except RuntimeError as error:  # what autograd forbids, it forbids in a trace too
            return str(error)

    expected, result = outcome(f), outcome(tw.jit(f))
    if isinstance(expected, str):
        assert result == expected
    else:
        for a, b in zip(result, expected):
            assert_same(a, b)
