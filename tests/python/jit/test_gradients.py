"""Results of a compiled function are on the tape: backward outside is the second half of its trace."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F


def make():
    tw.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Dropout(0.2), nn.BatchNorm1d(8), nn.Linear(8, 3))


def test_backward_outside_gives_the_gradients_of_eager_mode():
    a, b = make(), make()
    static = tw.jit(b.__call__)
    for seed in range(3):
        x = tw.randn(6, 5, requires_grad=True)
        y = tw.tensor(x.detach().numpy(), requires_grad=True)
        for model, argument in ((a, x), (static, y)):
            tw.manual_seed(seed)
            F.cross_entropy(model(argument), tw.tensor([0, 1, 2, 0, 1, 2])).backward()
        np.testing.assert_array_equal(y.grad.numpy(), x.grad.numpy())
        for p, q in zip(a.parameters(), b.parameters()):
            np.testing.assert_array_equal(q.grad.numpy(), p.grad.numpy())
        for p, q in zip(a.buffers(), b.buffers()):
            np.testing.assert_array_equal(q.numpy(), p.numpy())
    assert static.trace_count == 1


def test_only_what_needs_a_gradient_is_on_the_tape():
    weight = nn.Parameter(tw.ones(3))
    f = tw.jit(lambda x, y: (x * weight, y + 1, x.detach() * 2))
    x = tw.ones(3)
    a, b, c = f(x, tw.ones(3))
    assert a.requires_grad and not b.requires_grad and not c.requires_grad
    a.sum().backward()
    assert weight.grad.tolist() == [1, 1, 1]
    with tw.no_grad():
        assert not f(x, tw.ones(3))[0].requires_grad


def test_some_results_are_not_used():
    f = tw.jit(lambda x: (x * 2, x.exp(), x.sum()))
    x = tw.zeros(2, requires_grad=True)
    double, _, total = f(x)
    (double.sum() + total * 5).backward()
    assert x.grad.tolist() == [7, 7]


def test_a_variable_that_changes_before_backward_is_an_error():
    weight = nn.Parameter(tw.full((2,), 3.0))
    f = tw.jit(lambda x: x * weight)
    x = tw.ones(2, requires_grad=True)
    y = f(x)
    with tw.no_grad():
        weight.mul_(2)
    with pytest.raises(RuntimeError, match="has been changed by an in-place operation"):
        y.sum().backward()


def test_backward_twice_needs_retain_graph():
    f = tw.jit(lambda x: x.exp())
    x = tw.zeros(2, requires_grad=True)
    y = f(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.sum().backward()


def test_a_part_of_an_eager_model():
    body = nn.Linear(4, 4)
    static = tw.jit(lambda x: F.gelu(body(x)))
    x = tw.randn(3, 4, requires_grad=True)
    loss = (static(x * 2).tanh() + static(x)).sum()
    loss.backward()
    y = tw.tensor(x.detach().numpy(), requires_grad=True)
    grad = body.weight.grad.clone()
    body.zero_grad()
    (F.gelu(body(y * 2)).tanh() + F.gelu(body(y))).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-6)
    np.testing.assert_allclose(grad.numpy(), body.weight.grad.numpy(), rtol=1e-6, atol=1e-7)


def test_channels_last_stays_channels_last():
    conv = nn.Conv2d(8, 16, 3).to(memory_format=tw.channels_last)
    x = tw.randn(2, 8, 6, 6).to(memory_format=tw.channels_last)
    static = tw.jit(lambda x: F.relu(conv(x)))
    np.testing.assert_allclose(static(x).detach().numpy(), F.relu(conv(x)).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_a_gradient_in_row_major_order_is_read_where_it_lies():
    f = tw.jit(lambda x: (x * 2, x.view(-1)))
    x, upstream = tw.ones(3, 4, requires_grad=True), tw.randn(3, 4)
    same = tw.randn(12)
    before = upstream.tolist(), same.tolist()
    results = f(x)
    with tw.profiler.profile() as profile:
        tw.autograd.backward(results, [upstream, same])
    assert "row_major" not in {event.name for event in profile.events()}
    np.testing.assert_array_equal(x.grad.numpy(), 2 * upstream.numpy() + same.numpy().reshape(3, 4))
    x.grad.zero_()
    assert (upstream.tolist(), same.tolist()) == before


def test_the_gradient_of_an_argument_given_back_has_memory_of_its_own():
    f = tw.jit(lambda x: x.view(12))
    x, upstream = tw.ones(3, 4, requires_grad=True), tw.randn(12)
    f(x).backward(upstream)
    before = upstream.tolist()
    assert x.grad.view(12).tolist() == before
    x.grad.add_(1)
    assert upstream.tolist() == before


def test_a_gradient_in_another_order_is_put_in_order():
    f = tw.jit(lambda x: x * tw.arange(12.0).view(3, 4))
    for upstream in (tw.randn(4, 3).T, tw.ones(()).expand(3, 4), tw.randn(3, 8)[:, ::2]):
        x = tw.ones(3, 4, requires_grad=True)
        f(x).backward(upstream)
        np.testing.assert_array_equal(x.grad.numpy(), upstream.numpy() * np.arange(12, dtype="f").reshape(3, 4))
