"""The tape: what backward and grad give, what they refuse, hooks, versions."""

import gc

import numpy as np
import pytest
import thalweg as tw
from leaves import leaf
from thalweg.nn import functional as F

# --- backward ---


def test_gradients_add_up_over_uses_and_calls():
    x = leaf(1.0, 2.0)
    (x * x + x).sum().backward()
    assert x.grad.tolist() == [3.0, 5.0]
    (x * 10).sum().backward()
    assert x.grad.tolist() == [13.0, 15.0]


def test_a_value_used_twice_gets_both_gradients_before_it_passes_them_on():
    x = leaf(3.0)
    y = x * x
    (y * y + y).sum().backward()  # x⁴ + x²
    assert x.grad.item() == 4 * 27 + 6


def test_backward_of_several_elements_wants_a_gradient():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="backward"):
        (x * 2).backward()
    (x * 2).backward(tw.tensor([1.0, 10.0], dtype=tw.float64))
    assert x.grad.tolist() == [2.0, 20.0]


def test_backward_refuses_a_gradient_of_another_shape():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"\[3\].*\[2\]|\[2\].*\[3\]"):
        (x * 2).backward(tw.ones(3, dtype=tw.float64))


def test_backward_of_a_constant_is_refused():
    with pytest.raises(RuntimeError, match="require"):
        tw.ones(1).sum().backward()


def test_inputs_limits_who_gets_a_gradient():
    x, y = leaf(2.0), leaf(3.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.item() == 3.0 and y.grad is None


def test_no_gradient_reaches_integers_or_detached_values():
    x = leaf(2.0)
    (x * x.detach() * tw.tensor(3)).sum().backward()
    assert x.grad.item() == 6.0


def test_a_broadcast_input_gets_the_sum():
    row = tw.ones(3, dtype=tw.float64, requires_grad=True)
    column = tw.ones(2, 1, dtype=tw.float64, requires_grad=True)
    weights = tw.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=tw.float64)
    (row * column * weights).sum().backward()
    assert row.grad.tolist() == [5.0, 7.0, 9.0]
    assert column.grad.tolist() == [[6.0], [15.0]]


def test_a_long_tape_is_freed_without_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.sum().backward()
    assert x.grad.item() == 1.0
    for _ in range(100_000):
        x = x * 1.0
    del x, y
    gc.collect()


# --- retain_graph, create_graph ---


def test_a_second_backward_needs_retain_graph():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_third_order():
    x = leaf(0.7, -1.3)
    derivatives = [(x**4 * tw.sin(x)).sum()]
    for _ in range(3):
        (g,) = tw.autograd.grad(derivatives[-1].sum(), x, create_graph=True)
        derivatives.append(g)
    v = x.detach().numpy()
    s, c = np.sin(v), np.cos(v)
    third = 24 * v * s + 36 * v**2 * c - 12 * v**3 * s - v**4 * c
    np.testing.assert_allclose(derivatives[3].detach().numpy(), third, rtol=1e-10)
    assert derivatives[3].requires_grad


def test_a_gradient_penalty_reaches_the_weights():
    w = leaf(2.0)
    x = leaf(3.0)
    (g,) = tw.autograd.grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()  # (2wx)²: d/dw = 8wx², d/dx = 8w²x
    assert w.grad.item() == 8 * 2 * 9 and x.grad.item() == 8 * 4 * 3


def test_grad_leaves_grad_alone_and_names_unused_inputs():
    x, y = leaf(2.0), leaf(1.0)
    (g,) = tw.autograd.grad((x * x).sum(), x)
    assert g.item() == 4.0 and x.grad is None
    with pytest.raises(RuntimeError, match="allow_unused"):
        tw.autograd.grad((x * x).sum(), [x, y])
    assert tw.autograd.grad((x * x).sum(), [x, y], allow_unused=True)[1] is None
    assert tw.autograd.grad((x * x).sum(), [x, y], materialize_grads=True)[1].tolist() == [0.0]


def test_grad_of_an_inner_value():
    x = leaf(3.0)
    y = x * x
    (g,) = tw.autograd.grad((y * y).sum(), y)
    assert g.item() == 18.0


def test_grad_of_an_inner_value_stops_there():
    x = leaf(2.0, 3.0)
    h = x * x
    h.sum().backward()  # frees what the product has saved
    (g,) = tw.autograd.grad((h * 5).sum(), [h])
    assert g.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="retain_graph"):
        tw.autograd.grad((h * 5).sum(), [x])


def test_grad_computes_no_gradient_that_nobody_asked_for():
    x, w = tw.ones(1, 64, requires_grad=True), tw.ones(4096, 64, requires_grad=True)
    y = F.linear(x, w)
    gc.collect()
    tw.cpu.reset_peak_memory_stats()
    before = tw.cpu.memory_allocated()
    (g,) = tw.autograd.grad(y, [x], [tw.ones(1, 4096)], retain_graph=True)
    assert g.tolist() == [[4096.0] * 64]
    assert tw.cpu.max_memory_allocated() - before < w.nbytes // 2
    y.backward(tw.ones(1, 4096))
    assert x.grad.tolist() == [[4096.0] * 64] and w.grad.sum().item() == w.numel()


def test_retain_grad_keeps_the_gradient_of_an_inner_value():
    x = leaf(3.0)
    y = x * x
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.item() == 18.0 and x.grad.item() == 108.0


# --- hooks ---


def test_a_hook_sees_the_whole_gradient_and_may_replace_it():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    handle = y.register_hook(lambda g: g * 10)
    (y * 3 + y).sum().backward(retain_graph=True)
    assert seen == [4.0] and x.grad.item() == 80.0
    handle.remove()
    (y * 3 + y).sum().backward()
    assert x.grad.item() == 88.0


def test_hooks_of_leaves_run_before_and_after_the_gradient_is_added():
    x = leaf(1.0)
    order = []
    x.register_hook(lambda g: order.append(("gradient", g.item(), x.grad)))
    x.register_post_accumulate_grad_hook(lambda t: order.append(("added", t.grad.item())))
    (x * 5).sum().backward()
    assert order == [("gradient", 5.0, None), ("added", 5.0)]


def test_an_exception_in_a_hook_reaches_the_caller():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    (x * 2).sum().backward()
    assert x.grad.item() == 2.0


def test_register_hook_wants_a_tensor_on_the_tape():
    with pytest.raises(RuntimeError, match="require"):
        tw.ones(1).register_hook(lambda g: g)


def test_a_hook_that_cannot_be_called_is_refused_when_it_is_registered():
    x = leaf(1.0)
    node = (x * 2).grad_fn
    for register in (x.register_hook, x.register_post_accumulate_grad_hook, node.register_hook, node.register_prehook):
        with pytest.raises(TypeError, match="a callable is wanted, got int"):
            register(3)


def test_hooks_of_nodes_see_and_replace_gradients():
    x = leaf(1.0, 2.0)
    y = x * 3
    calls = []
    before = y.grad_fn.register_prehook(lambda out: (out[0] * 2,))
    after = y.grad_fn.register_hook(lambda into, out: calls.append((into[0].tolist(), out[0].tolist())))
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [6.0, 6.0]
    assert calls == [([6.0, 6.0], [2.0, 2.0])]
    before.remove()
    after.remove()
    y.sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]
    assert len(calls) == 1


# --- in-place, versions ---


def test_changing_a_saved_value_is_noticed():
    x = leaf(2.0)
    y = x * 3
    z = y * y
    before = y._version
    y.add_(1)
    assert y._version == before + 1
    with pytest.raises(RuntimeError, match="(?s)in.place|version|modified|changed"):
        z.sum().backward()


def test_a_view_shares_the_version_and_detach_does_too():
    x = tw.zeros(4)
    x[1:].add_(1)
    assert x._version == 1
    x.detach().add_(1)
    assert x._version == 2


def test_writing_to_a_leaf_is_refused_outside_no_grad():
    x = leaf(1.0, 2.0)
    for write in (lambda: x.add_(1), lambda: x[0].mul_(2), lambda: x.__setitem__(0, 1.0)):
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    with tw.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 3.0] and x.requires_grad


def test_a_write_through_a_view_changes_the_history_of_the_base():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    base[1:].mul_(x[:2])
    base.sum().backward()  # x0 + x1 x0 + x2 x1
    assert x.grad.tolist() == [1 + 2, 1 + 3, 2]


def test_a_view_that_is_out_of_date_is_read_by_two_ops():
    x = tw.ones(2, 3, requires_grad=True)
    base = x * 1.0
    view = base.unsqueeze(0)
    base.mul_(3)
    first = view * 2  # makes the view's new history, which is older than this op
    (first.sum() + view.sum()).backward()
    assert x.grad.tolist() == [[9, 9, 9], [9, 9, 9]]


def test_a_view_that_is_out_of_date_is_read_by_a_function():
    class Double(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    x = tw.ones(3, requires_grad=True)
    base = x * 1.0
    view = base[1:]
    base.mul_(3)
    (Double.apply(view).sum() + view.sum()).backward()
    assert x.grad.tolist() == [0, 9, 9]


def test_a_view_taken_before_a_write_to_the_base_reads_the_new_history():
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[1]
    base.mul_(5)
    view.backward()
    assert x.grad.tolist() == [0.0, 5.0]


def test_as_strided_of_an_expanded_tensor_sums_what_overlaps():
    x = leaf(1.0, 2.0)
    z = tw.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=tw.float64)
    e = x.expand(3, 2)
    (e.as_strided(e.shape, e.stride()) * z).sum().backward()
    assert x.grad.tolist() == [9.0, 12.0]


def test_the_tape_ends_at_its_leaves():
    leaf, other = tw.ones(2, requires_grad=True), tw.ones(2)
    node = (leaf * other).grad_fn
    (end, _), (nothing, _) = node.next_functions
    assert end.variable is leaf and nothing is None
    with pytest.raises(AttributeError, match="MulBackward has no variable"):
        node.variable  # noqa: B018
    del leaf
    assert end.variable is None
