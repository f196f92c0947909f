"""Control flow on tensors of several placements in compiled functions does what it does in eager mode."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum


def places(*ranks):
    return [tw.placement("cpu", one) for one in ranks]


# Where stages lie: apart, on pairs, one in the other, overlapping, and as an axis of another.
STAGES = [
    places([0], [1]),
    places([0, 1], [2, 3]),
    places([2], [0, 1, 2, 3]),
    places([0, 1, 2], [2, 3]),
    places([[0, 1], [2, 3]], [0, 1, 2, 3]),
]


def values(shape, seed=0):
    return tw.tensor(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))


def same(found, expected):
    if isinstance(expected, (list, tuple)):
        for one, wanted in zip(found, expected, strict=True):
            same(one, wanted)
        return
    wanted = expected.detach().numpy() if isinstance(expected, tw.Tensor) else expected
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-4, atol=1e-5)
    if isinstance(expected, tw.Tensor) and expected.is_global:
        assert found.placement == expected.placement


def to(x, where):
    return x.to_global(where, [B] * where.ndim)


def zeros(*shape, where):
    return tw.zeros(*shape, placement=where, sbp=[B] * where.ndim)


def branches(x, w):
    def one():
        return x.exp() * 2, to(x, w.placement) @ w * 2

    def other():
        y = to(x, w.placement) @ w
        return x - to(y.mean(), x.placement), y

    return tw.cond(x.sum() > 0, one, other)


def decided_elsewhere(x, w):
    scaled = tw.cond(x.sum() > 0, lambda: w * 2, lambda: w - 1)
    return scaled, tw.cond(scaled.sum() > 0, lambda: x.softmax(0), lambda: x.exp())


def carried(x, w):
    def body(h, g, n):
        return h * 0.5 + 0.1, g + to(h, w.placement) @ w * 0.5, n + 1

    g = zeros(8, 4, where=w.placement)
    return tw.while_loop(lambda h, g, n: (g.abs().sum() < 12) & to(n < 6, w.placement), body, (x, g, x.sum() * 0))


def scanned(x, w):
    def body(carry, row):
        h, g = carry
        h = (row + h * 0.5).tanh()
        g = g * 0.5 + to(h, w.placement) @ w
        return (h, g), (h.sum(), g.exp())

    return tw.scan(body, (zeros(4, where=x.placement), zeros(4, where=w.placement)), x)


def nested(x, w):
    def body(h, g):
        more = tw.cond(h.mean() > 0.1, lambda: g + to(h, w.placement).sum(0) * 0.3, lambda: g - 1)
        return tw.cond(more.sum() > 0, lambda: h * 0.5, lambda: h + 0.5), more

    return tw.while_loop(lambda h, g: h.abs().sum() > 3, body, (x, w[0] * 0), max_iterations=7)


def converted(x, w):
    h, g = x, w.sum(0)
    steps = 0
    while h.abs().max() > 0.2:
        h = h * 0.5
        if g.sum() > 0:
            g = g - to(h.sum(0), w.placement).abs()
            continue
        g = g + 2
        steps += 1
    y = h * 2 if g.sum() > 0 else h + to(g, x.placement)
    return h, g, y, steps


USES = [branches, decided_elsewhere, carried, scanned, nested, converted]


@pytest.mark.parametrize("first, second", STAGES)
@pytest.mark.parametrize("f", USES)
def test_control_flow_is_that_of_eager_mode(first, second, f):
    compiled = tw.jit(f)
    for sign in (1, -1, 1):
        x = (values((8, 4)) * sign).to_global(first, [S(0)] * first.ndim)
        w = (values((4, 4), 1) + 0.1 * sign).to_global(second, [S(1)] * second.ndim)
        same(compiled(x, w), f(x, w))
    assert compiled.trace_count == 1


def test_each_device_has_its_own_nodes_alone():
    first, second = places([0], [1])
    compiled = tw.jit(branches)
    x, w = values((8, 4)).to_global(first, B), values((4, 4), 1).to_global(second, B)
    same(compiled(x, w), branches(x, w))
    launches = [one for one in compiled.plan().launches if one.op == "mm"]
    assert len(launches) <= 2  # one in a branch


def test_writes_reach_tensors_of_other_placements():
    first, second = places([0, 1], [2, 3])

    def f(total, count, x):
        def add(n):
            total.add_(x.sum().to_global(second, B))
            count.mul_(1.5)
            return n + 1

        tw.cond(x.sum() > 0, lambda: total.mul_(2).sum() * 0, lambda: total.sum() * 0 + count.sub_(1).shape[0] * 0)
        return tw.while_loop(lambda n: n < 3, add, (0,))[0]

    def tensors():
        return values((4, 2)).to_global(second, S(0)), values((3,), 1).to_global(first, S(0))

    x = values((4, 2), 2).to_global(first, S(1))
    (found, other), (total, count) = tensors(), tensors()
    compiled = tw.jit(f)
    for _ in range(2):
        compiled(found, other, x)
        f(total, count, x)
    same([found, other], [total, count])


@pytest.mark.parametrize("sign", [1, -1])
def test_random_numbers_behind_a_region_of_another_placement_are_those_of_eager_mode(sign):
    first, second = places([0], [1])

    def f(x, w):
        dropout = nn.functional.dropout
        return tw.cond(x.sum() > 0, lambda: dropout(x, 0.5), lambda: x), dropout(w, 0.3)

    x, w = (values((8, 4)).abs() * sign).to_global(first, B), values((4, 4)).to_global(second, B)
    tw.manual_seed(2)
    expected = f(x, w)
    tw.manual_seed(2)
    same(tw.jit(f)(x, w), expected)


# ---- gradients


def branch_loss(x, w):
    y, z = branches(x, w)
    return (to(y.square().sum(), w.placement) + z.square().sum()) * 0.1


def scan_loss(x, w):
    (h, g), (sums, rows) = scanned(x, w)
    return (g * g).sum() + rows.sum() * 0.1 + to(h.sum() + sums.sum(), w.placement)


def bounded_loss(x, w):
    def body(h, g, n):
        h = (h @ to(w, x.placement)).tanh() + h
        return h, g + to(h.mean(), w.placement), n + 1

    h, g, n = tw.while_loop(lambda h, g, n: (h.abs().max() < 10) & (n < 4), body, (x, w * 0.5, 0), max_iterations=6)
    return (g * g).sum() + to((h * h).sum() + n, w.placement)


@pytest.mark.parametrize("first, second", STAGES)
@pytest.mark.parametrize("loss_of", [branch_loss, scan_loss, bounded_loss])
def test_gradients_cross_placements_in_regions(first, second, loss_of):
    def f(x, w):
        loss = loss_of(x, w)
        loss.backward()
        return loss.detach()

    for sign in (1, -1):
        found, eager = (
            [
                (values((8, 4)) * sign).to_global(first, [S(0)] * first.ndim).requires_grad_(),
                values((4, 4), 1).to_global(second, [S(1)] * second.ndim).requires_grad_(),
            ]
            for _ in range(2)
        )
        same(tw.jit(f)(*found), f(*eager))
        for one, wanted in zip(found, eager, strict=True):
            assert one.grad.sbp == one.sbp
            same(one.grad, wanted.grad)


def test_gradients_of_results_cross_placements():
    first, second = places([0], [1])
    x, w = values((8, 4)).to_global(first, B).requires_grad_(), values((4, 4), 1).to_global(second, B).requires_grad_()
    tw.jit(scan_loss)(x, w).backward()
    found = [t.grad.numpy().copy() for t in (x, w)]
    x.grad = w.grad = None
    scan_loss(x, w).backward()
    for one, wanted in zip(found, (x.grad, w.grad), strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-4, atol=1e-5)


# ---- errors


def test_a_value_on_two_placements_is_an_error_with_the_way_out():
    first, second = places([0], [1])

    def f(x, w):
        return tw.while_loop(lambda h, n: n < 3, lambda h, n: (h * n, n + 1), (w, x.sum()))

    with pytest.raises(tw.PlacementError, match=r"to_global\(\) brings them together"):
        tw.jit(f)(tw.ones(4, placement=first, sbp=B), tw.ones(4, placement=second, sbp=B))
