"""The tape: what backward and grad give, what they refuse, hooks, modes, custom functions, versions."""

import gc
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
import thalweg as tw


def leaf(*values, dtype=tw.float64):
    return tw.tensor(values, dtype=dtype, requires_grad=True)


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


# --- modes ---


def test_modes_nest_and_are_put_back_after_an_exception():
    x = leaf(1.0)
    with tw.no_grad():
        assert not (x * 2).requires_grad
        with tw.enable_grad():
            assert (x * 2).requires_grad
        assert not tw.is_grad_enabled()
    with pytest.raises(KeyError), tw.no_grad():
        raise KeyError
    assert tw.is_grad_enabled()
    with tw.set_grad_enabled(False):
        assert not (x * 2).requires_grad


def test_no_grad_decorates_functions():
    x = leaf(1.0)

    @tw.no_grad()
    def double(t):
        return t * 2

    assert not double(x).requires_grad and tw.is_grad_enabled()


def test_inference_tensors_never_join_a_tape():
    x = leaf(2.0)
    with tw.inference_mode():
        y = x * 3
    assert y.is_inference() and not y.requires_grad
    with pytest.raises(RuntimeError, match="inference"):
        y.requires_grad = True
    with pytest.raises(RuntimeError, match="inference"):
        (x * y).sum().backward()  # y would have to be saved
    (x * y.clone()).sum().backward()
    assert x.grad.item() == 6.0


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


# --- custom functions ---


class Cube(tw.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


def test_a_custom_function_has_higher_orders():
    x = leaf(0.5, -2.0)
    assert tw.autograd.gradcheck(Cube.apply, [x])
    assert tw.autograd.gradgradcheck(Cube.apply, [x])


def test_setup_context_and_arguments_that_are_no_tensors():
    class Scale(tw.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(1.0, 2.0)
    Scale.apply(x, 4.0).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_function_with_several_outputs_gets_zeros_for_unused_ones():
    class Split(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            assert b.tolist() == [0.0]
            return 2 * a + 3 * b

    x = leaf(1.0)
    Split.apply(x)[0].sum().backward()
    assert x.grad.item() == 2.0


def test_mark_dirty_and_mark_non_differentiable():
    class AddOne(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            sign = tw.ones_like(x)
            ctx.mark_non_differentiable(sign)
            return x, sign

        @staticmethod
        def backward(ctx, g, _):
            return g * 7

    x = leaf(1.0)
    y = x * 1
    out, sign = AddOne.apply(y)
    assert out is y and not sign.requires_grad
    out.sum().backward()
    assert x.grad.item() == 7.0


def test_a_wrong_number_of_gradients_is_an_error_that_names_the_function():
    class Wrong(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError, match=r"Wrong.*1.*2"):
        Wrong.apply(leaf(1.0)).sum().backward()


def test_once_differentiable_refuses_a_second_order():
    class Once(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @tw.autograd.function.once_differentiable
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    upstream = leaf(1.0)
    (g,) = tw.autograd.grad(Once.apply(x), x, upstream, create_graph=True)
    assert g.item() == 6.0
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


class SaveRow(tw.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x[0])
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def test_memory_stays_flat_when_a_function_saves_a_view():
    """A saved view of an input must not keep input and node alive in a circle."""
    kept = tw.zeros(2, 128, 512)
    gc.disable()
    try:
        for step in range(300):
            x = tw.ones(2, 128, 512, requires_grad=True)
            y = SaveRow.apply(x * 1)
            with tw.no_grad():
                kept.copy_(y)
            if step % 2:
                y.sum().backward()  # half of the tapes are dropped without a backward
            if step == 50:
                warm = resident_bytes()
        assert resident_bytes() < 1.05 * warm
    finally:
        gc.enable()


def test_a_dropped_tape_frees_what_it_saved():
    x = leaf(1.0)
    inner = x * 2
    alive = weakref.ref(inner)
    out = Cube.apply(inner)
    del inner
    out.sum().backward()
    del out
    assert alive() is None


# --- anomaly mode ---


class NanBackward(tw.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


@pytest.mark.parametrize(("make", "name"), [(NanBackward.apply, "NanBackward"), (lambda x: (x * 0).sqrt() * 0, "Sqrt")])
def test_anomaly_mode_names_the_op_and_the_users_line(make, name):
    x = leaf(1.0)
    with tw.autograd.detect_anomaly():
        y = make(x * 2)
        with pytest.raises(RuntimeError, match="nan") as error:
            y.sum().backward()
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])
    assert name in text
    assert "test_autograd.py" in text
    assert not tw._core._native.anomaly_enabled()


def test_without_anomaly_mode_nan_passes():
    x = leaf(1.0)
    NanBackward.apply(x).sum().backward()
    assert x.grad.isnan().item()


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
