"""Hooks around forward and backward."""

import pytest
import thalweg as tw
from thalweg import nn


class Add(nn.Module):
    def forward(self, x, y=0):
        return x + y


def test_forward_hooks_see_and_replace():
    layer, seen = Add(), []
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    layer.register_forward_hook(lambda module, args, output: seen.append((args[0].item(), output.item())))
    layer.register_forward_hook(lambda module, args, output: output + 1)
    assert layer(tw.tensor(3.0)).item() == 7
    assert seen == [(6.0, 6.0)]


def test_hooks_with_kwargs():
    layer = Add()
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"y": kwargs["y"] + 1}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, output: output * kwargs["y"], with_kwargs=True)
    assert layer(tw.tensor(1.0), y=2).item() == 12
    layer.register_forward_pre_hook(lambda m, args, kwargs: 5, with_kwargs=True)
    with pytest.raises(TypeError, match="args, kwargs"):
        layer(tw.tensor(1.0), y=2)


def test_prepend_and_remove():
    layer, order = nn.Identity(), []
    layer.register_forward_hook(lambda *_: order.append("a"))
    handle = layer.register_forward_hook(lambda *_: order.append("b"), prepend=True)
    layer(tw.ones(1))
    handle.remove()
    handle.remove()
    layer(tw.ones(1))
    assert order == ["b", "a", "a"]
    with layer.register_forward_pre_hook(lambda *_: order.append("c")):
        layer(tw.ones(1))
    layer(tw.ones(1))
    assert order == ["b", "a", "a", "c", "a", "a"]


def test_always_call_runs_when_forward_raises():
    seen = []
    layer = nn.Module()
    layer.register_forward_hook(lambda *_: seen.append("never"))
    layer.register_forward_hook(lambda m, args, output: seen.append(output), always_call=True)
    with pytest.raises(NotImplementedError):
        layer(1)
    assert seen == [None]


def test_backward_hook_sees_all_gradients_and_replaces_them():
    layer, seen = nn.Linear(2, 1, bias=False), []
    with tw.no_grad():
        layer.weight.copy_(tw.tensor([[2.0, 3.0]]))

    def hook(module, grad_input, grad_output):
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    layer.register_full_backward_hook(hook)
    x = tw.ones(1, 2, requires_grad=True)
    (layer(x) * 5).sum().backward()
    assert seen == [([[10.0, 15.0]], [[5.0]])]
    assert x.grad.tolist() == [[100.0, 150.0]]
    assert layer.weight.grad.tolist() == [[5.0, 5.0]]


def test_backward_hook_without_an_input_that_needs_gradients():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, len(grad_output))))
    layer(tw.ones(1, 2)).sum().backward()
    assert seen == [((None,), 1)]


def test_backward_hook_leaves_none_where_an_argument_is_no_tensor():
    class Pick(nn.Module):
        def forward(self, scale, x):
            return scale * x

    layer, seen = Pick(), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append([None if g is None else g.item() for g in gi]))
    layer(3, tw.tensor(2.0, requires_grad=True)).backward()
    assert seen == [[None, 3.0]]


def test_backward_pre_hook_replaces_the_output_gradient():
    layer = nn.Identity()
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
    seen = []
    layer.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append(grad_output[0].tolist()))
    x = tw.ones(2, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and seen == [[3.0, 3.0]]


def test_a_backward_hook_that_returns_another_number_is_refused():
    layer = nn.Identity()
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(Exception, match="1 gradients are wanted, got 2"):
        layer(tw.ones(1, requires_grad=True)).sum().backward()


def test_a_hook_must_be_callable():
    with pytest.raises(TypeError, match="callable"):
        nn.Identity().register_forward_hook(3)
