"""Custom functions, and what a tape keeps and frees."""

import gc
import re
import weakref
from pathlib import Path

import pytest
import thalweg as tw
from leaves import leaf


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
