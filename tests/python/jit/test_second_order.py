"""Gradients of gradients through control flow in compiled functions: those of eager mode, and finite differences."""

import numpy as np
import pytest
import thalweg as tw
import thalweg.nn.functional as F


def branches(x, w, flag):
    y = (x * w).sin()
    return tw.cond(flag > 0, lambda: (y.exp() * w).sum(), lambda: (y * y * x).sum() + w.prod())


def nested(x, w, flag):
    def body(carry, part):
        carry = tw.cond(carry.sum() > flag, lambda: (carry * w).sin(), lambda: carry * part + x)
        return carry, (carry * carry).sum()

    carry, parts = tw.scan(body, x, w.reshape(3, 1) * tw.ones(3, 3))
    return (carry.tanh() * w).sum() + (parts * parts).sum()


def scanned(x, w, flag):
    def body(carry, part):
        made = (carry * part).sin() + w.exp() * 0.3
        return made * made + x, made * part

    carry, parts = tw.scan(body, x, w.reshape(3, 1) * tw.ones(3, 3))
    return (carry * parts.sum(0)).sum() * flag


def repeated(x, w, flag):
    def body(y, n):
        return (y * w).sin() + 0.5 * y * y, n + 1

    y, _ = tw.while_loop(lambda y, n: n < flag + 3, body, (x * x, tw.zeros_like(flag)), max_iterations=7)
    return (y * w).sum()


def reverse(x, w, flag):
    carry, parts = tw.scan(lambda c, p: (c * p + x.cos(), c * c), x, w.exp() * flag, reverse=True)
    return (carry * x).sum() + (parts * parts).sum()


def written(x, w, flag):
    total = tw.zeros(3) + x

    def body(carry, part):
        total.mul_(part * w)
        return carry * total.sum(), None

    carry, _ = tw.scan(body, x.sum(), w * w)
    return carry + (total**3).sum() * flag


def loops_in_loops(x, w, flag):
    def inner(c, part):
        return (c * part).sin() + c, c * w

    def outer(c, part):
        c, parts = tw.scan(inner, c, w * part)
        return c + parts.sum(0), c.sum()

    c, sums = tw.scan(outer, x, x * flag)
    return (c * c).sum() + (sums**2).sum()


FUNCTIONS = [branches, scanned, repeated, reverse, nested, written, loops_in_loops]


def second(function):
    def run(x, w, flag):
        first = tw.autograd.grad(function(x, w, flag), (x, w), create_graph=True, allow_unused=True)
        total = sum((g * g * (i + 1)).sum() for i, g in enumerate(first) if g is not None)
        seconds = tw.autograd.grad(total, (x, w), allow_unused=True)
        return [*first, *seconds]

    return run


def inputs(seed, dtype=tw.float64):
    values = np.random.default_rng(seed).normal(size=(2, 3)) * 0.7
    return [tw.tensor(row, dtype=dtype, requires_grad=True) for row in values]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_of_gradients_are_those_of_eager_mode(function):
    tw.set_default_dtype(tw.float64)
    try:
        static = tw.jit(second(function))
        for seed, flag in ((0, 1.0), (1, -1.0), (2, 2.0)):
            x, w = inputs(seed)
            expected = second(function)(x, w, tw.tensor(flag))
            result = static(x, w, tw.tensor(flag))
            for a, b in zip(result, expected, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=1e-10, atol=1e-12)
        assert static.trace_count == 1
    finally:
        tw.set_default_dtype(tw.float32)


@pytest.mark.parametrize("function", [branches, scanned, repeated], ids=lambda f: f.__name__)
def test_third_order_and_finite_differences(function):
    tw.set_default_dtype(tw.float64)
    try:

        def sums(x, w, flag):
            (gx,) = tw.autograd.grad(function(x, w, flag), x, create_graph=True)
            (gxx,) = tw.autograd.grad((gx * gx).sum(), x, create_graph=True)
            (gxxx,) = tw.autograd.grad(gxx.sum(), x)
            return gxx.sum().detach(), gxxx

        static = tw.jit(sums)
        x, w = inputs(5)
        flag = tw.tensor(1.0)
        _, slope = static(x, w, flag)
        np.testing.assert_allclose(slope.numpy(), sums(x, w, flag)[1].numpy(), rtol=1e-9)
        for i in range(3):
            step = np.zeros(3)
            step[i] = 1e-6
            up, down = (
                static(tw.tensor(x.numpy(force=True) + s, requires_grad=True), w, flag)[0].item() for s in (step, -step)
            )
            assert slope[i].item() == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-7)
    finally:
        tw.set_default_dtype(tw.float32)


def test_a_penalty_on_gradients_in_a_converted_loop():
    def step(x, weight, n):
        y = x
        with tw.jit.max_iterations(5):
            for _ in range(n):
                if y.sum() > 0:
                    y = (y * weight).tanh()
                else:
                    y = y * y - weight
        (slope,) = tw.autograd.grad(y.sum(), x, create_graph=True)
        loss = y.sum() + (slope * slope).sum()
        loss.backward()
        return loss.detach(), weight.grad

    results = []
    for run in (step, tw.jit(step)):
        weight, x = (
            tw.tensor([0.5, -0.3, 1.2], requires_grad=True),
            tw.tensor([0.3, 0.9, -0.2], requires_grad=True),
        )
        made = []
        for n in (3, 1, 4):
            weight.grad = x.grad = None
            made.append([t.numpy(force=True).copy() for t in run(x, weight, tw.tensor(n))])
        results.append(made)
    for a, b in zip(*results):
        for left, right in zip(a, b):
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def test_masks_are_kept_for_the_second_order():
    def run(x, w):
        def body(carry, part):
            return F.dropout(carry * w, 0.5) + part, None

        carry, _ = tw.scan(body, x, tw.ones(4, 3))
        (slope,) = tw.autograd.grad((carry**3).sum(), x, create_graph=True)
        return tw.autograd.grad((slope * slope).sum(), w)[0]

    results = []
    for function in (run, tw.jit(run)):
        tw.manual_seed(3)
        x, w = inputs(1, tw.float32)
        results.append([function(x, w).numpy() for _ in range(2)])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4)
