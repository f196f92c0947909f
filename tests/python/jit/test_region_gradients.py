"""Backward inside of branches and loop bodies: what it does to .grad of tensors around them."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import optim


def outcomes(run, compiled, calls=2, grad=None):
    w = tw.tensor([1.0, 2.0, -1.0], requires_grad=True)
    w.grad = None if grad is None else tw.tensor(grad)
    held = w.grad

    def function(x):
        return run(x, w)

    function = tw.jit(function) if compiled else function
    results = []
    for i in range(calls):
        function(tw.arange(6.0).reshape(2, 3) + i)
        results.append(None if w.grad is None else w.grad.tolist())
    return results, w.tolist(), None if held is None else held.tolist()


def assert_same(run, **options):
    (expected, weight, held), (result, static_weight, static_held) = (
        outcomes(run, c, **options) for c in (False, True)
    )
    for a, b in zip(result, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    np.testing.assert_allclose(static_weight, weight, rtol=1e-6)
    assert static_held == held


@pytest.mark.parametrize("grad", [None, [1.0, 1.0, 1.0]])
def test_a_loop_adds_to_a_gradient_that_it_makes(grad):
    def run(x, w):
        def body(total, row):
            loss = ((row * w) ** 2).sum()
            loss.backward()
            return total + loss.detach(), None

        tw.scan(body, tw.tensor(0.0), x)

    assert_same(run, grad=grad)


def test_a_whole_training_loop_is_a_loop_of_the_program():
    def run(x, w):
        optimizer = optim.SGD([w], lr=0.01)
        for i in range((x > -1).sum()):
            optimizer.zero_grad()
            loss = ((x[i % 2] * w) ** 2).sum()
            if loss > 0.5:
                loss.backward()
                optimizer.step()

    assert_same(run)


def test_a_gradient_that_is_replaced_is_another_tensor():
    def run(x, w):
        def body(n, row):
            w.grad = None
            (row * w).sum().backward()
            return n, None

        tw.scan(body, tw.tensor(0), x)

    assert_same(run, grad=[5.0, 6.0, 7.0])


def test_branches_that_make_a_gradient_leave_zeros_where_they_are_not_taken():
    def run(x, w):
        tw.cond(x.sum() > 16, lambda: (x * w).sum().backward(), lambda: None)

    (expected, _, _), (result, _, _) = (outcomes(run, compiled) for compiled in (False, True))
    assert expected[0] is None and result == [[0, 0, 0], expected[1]]


def test_gradients_in_nested_control_flow():
    def run(x, w):
        def body(n, row):
            tw.cond(row.sum() > 4, lambda: ((row * w) ** 3).sum().backward(), lambda: (row.exp() * w).sum().backward())
            return n, None

        tw.scan(body, tw.tensor(0), x)

    assert_same(run)


def test_gradients_that_can_be_differentiated():
    def run(x, w):
        def body(n, row):
            ((row * w) ** 3).sum().backward(create_graph=True)
            return n + (w.grad * w.grad).sum().detach(), None

        tw.scan(body, tw.tensor(0.0), x)
        w.grad = w.grad.detach()

    assert_same(run)


def test_a_gradient_that_is_taken_away_is_an_error():
    def run(x, w):
        def body(n, row):
            w.grad = None
            return n, None

        tw.scan(body, tw.tensor(0), x)

    with pytest.raises(NotImplementedError, match="takes away the .grad of a tensor of the outside, of shape"):
        outcomes(run, True, grad=[1.0, 2.0, 3.0])
