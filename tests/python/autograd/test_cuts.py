"""Gradients of slices, which go into their part of a sum (OpDef::cuts)."""

import numpy as np
import pytest
import thalweg as tw

CUTS = {
    "select": lambda x: [x.select(1, i) for i in range(3)],
    "overlapping": lambda x: [x[:3], x[1:4], x[:, 1:]],
    "strided": lambda x: [x[::2], x[1::2], x[:, ::2]],
    "chunk": lambda x: x.chunk(2, 0),
    "diagonal": lambda x: [x.diagonal(), x.diagonal(1), x[0]],
    "nested": lambda x: [x[1:][:2], x[1:][0], x.select(0, 1)[1:]],
    "transposed": lambda x: [x.transpose(0, 1)[0], x.transpose(0, 1)[1:]],
    "repeated": lambda x: [x[0], x[0], x[0]],
}


@pytest.mark.parametrize("name", CUTS)
def test_gradients_of_cuts_meet_in_one_sum(name):
    values = np.random.default_rng(0).standard_normal((4, 3))
    expected = np.zeros((4, 3))
    places = np.arange(12).reshape(4, 3)
    for weight, part in enumerate(CUTS[name](tw.from_numpy(places)), 1):
        np.add.at(expected.reshape(-1), part.numpy().reshape(-1), weight)
    for through in (lambda x: x, lambda x: x * 1):  # into a leaf, and into a node
        x = tw.tensor(values, requires_grad=True)
        sum(weight * part.sum() for weight, part in enumerate(CUTS[name](through(x)), 1)).backward()
        np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_a_given_gradient_is_not_written_by_a_cut():
    x = tw.ones(4, 3, requires_grad=True)
    y = x * 1
    given = tw.ones(4, 3)
    tw.autograd.backward([y, y[0]], [given, tw.ones(3)])
    assert given.tolist() == [[1.0] * 3] * 4
    assert x.grad.tolist() == [[2.0] * 3] + [[1.0] * 3] * 3


def test_cuts_with_hooks_and_a_second_backward():
    x = tw.ones(4, 3, requires_grad=True)
    y = x * 2
    first, second = y[:2], y[2]
    seen = []
    second.grad_fn.register_hook(lambda into, out: seen.append(into[0].tolist()))
    loss = first.sum() + second.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [[4.0] * 3] * 3 + [[0.0] * 3]
    assert seen == [[[0.0] * 3] * 2 + [[1.0] * 3] + [[0.0] * 3]] * 2
    with pytest.raises(RuntimeError, match="already run"):
        first.sum().backward()


def test_cuts_in_a_graph_of_gradients():
    x = tw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    (grad,) = tw.autograd.grad((y[:2] * y[1:]).sum(), x, create_graph=True)
    (second,) = tw.autograd.grad(grad.sum(), x)
    # x0^2 x1^2 + x1^2 x2^2: the rows of its Hessian, summed
    assert second.tolist() == [2 * 4 + 4 * 2, 4 * 2 + 2 * (1 + 9) + 4 * 6, 4 * 6 + 2 * 4]
