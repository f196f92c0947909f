"""Control flow on global tensors in compiled functions does what it does in eager mode."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
PAIR = tw.placement("cpu", [0, 1])
LINE = tw.placement("cpu", [0, 1, 2, 3])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])
LAYOUTS = [(PAIR, S(0)), (PAIR, B), (LINE, S(1)), (MESH, [S(0), S(1)])]


def values(shape, seed=0):
    return tw.tensor(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))


def same(found, expected):
    assert isinstance(found, (list, tuple)) == isinstance(expected, (list, tuple))
    if isinstance(expected, (list, tuple)):
        for one, wanted in zip(found, expected, strict=True):
            same(one, wanted)
        return
    wanted = expected.detach().numpy() if isinstance(expected, tw.Tensor) else expected
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-4, atol=1e-5)


def branches(x):
    return tw.cond(x.sum() > 0, lambda: (x.softmax(0), x.sum()), lambda: (x.exp(), x.mean()))


def halved(x):
    return tw.while_loop(lambda x, n: (x.abs().sum() > 1) & (n < 5), lambda x, n: (x / 2 + n * 0.01, n + 1), (x, 0))


def scanned(x):
    return tw.scan(lambda h, row: (h * 0.5 + row, (h * row).sum()), tw.zeros_like(x[0]), x, reverse=True)


def converted(x):
    y = x * 2 if x.sum() > 0 else x.exp()
    n = 0
    while y.abs().max() > 0.1:
        y = y * 0.5
        if y.sum() > 1:
            continue
        n += 1
    total = y.sum() * 0
    for i in range(x.abs().sum().to(tw.int64)):
        total = total + y.mean() * i
    return y, n, total


def nested(x):
    def body(row, n):
        return tw.cond(row.sum() > 0, lambda: (row - 1, n + 1), lambda: (row * 0.5, n + 2))

    return tw.while_loop(lambda row, n: (row.abs().sum() > 1) & (n < 6), body, (x, 0))


@pytest.mark.parametrize("where, how", LAYOUTS)
@pytest.mark.parametrize("f", [branches, halved, scanned, converted, nested])
def test_control_flow_is_that_of_eager_mode(where, how, f):
    compiled = tw.jit(f)
    for sign in (1, -1, 1):
        x = values((8, 4)) * sign
        same(compiled(x.to_global(where, how)), f(x))
    assert compiled.trace_count == 1


def test_constants_of_the_program_decide_as_numbers_do():
    def f(x):
        return tw.while_loop(lambda x, n: n > 0, lambda x, n: (x * 0.5, n - 1), (x, tw.tensor(3)))[0]

    same(tw.jit(f)(values((8, 4)).to_global(PAIR, S(0))), f(values((8, 4))))


def test_what_a_region_is_said_to_give_lies_so():
    @tw.jit
    def f(x):
        return tw.cond(x.sum() > 0, lambda: (x * 2).to_global(sbp=S(1)), lambda: x.to_global(sbp=B).exp())

    x = values((8, 4))
    for sign in (1, -1):
        same(f((x * sign).to_global(PAIR, S(0))), x * 2 if (x * sign).sum() > 0 else (x * sign).exp())
        x = x * sign


def test_writes_in_branches_and_loops_reach_what_they_write_to():
    def f(total, x):
        def add(n):
            total.add_(x)
            return n + 1

        tw.cond(x.sum() > 0, lambda: total.mul_(2), lambda: total.sub_(1))
        return tw.while_loop(lambda n: n < 3, add, (0,))[0]

    expected, x = values((4, 2)), values((4, 2), 1)
    total = expected.clone().to_global(PAIR, S(0))
    for _ in range(2):
        f(expected, x)
    compiled = tw.jit(f)
    for _ in range(2):
        compiled(total, x.to_global(PAIR, S(1)))
    assert total.sbp == (S(0),)
    same(total, expected)


def test_random_numbers_are_those_of_eager_mode():
    def f(x):
        return tw.cond(x.sum() > 0, lambda: nn.functional.dropout(x, 0.5), lambda: x) + nn.functional.dropout(x, 0.3)

    for x in (values((8, 4)).abs(), -values((8, 4)).abs()):
        tw.manual_seed(2)
        expected = f(x)
        tw.manual_seed(2)
        same(tw.jit(f)(x.to_global(MESH, [S(0), B])), expected)


# ---- gradients


def branch_loss(x, w):
    return tw.cond(x.sum() > 0, lambda: ((x @ w) ** 2).sum(), lambda: (x * 3).sum())


def recurrent_loss(x, w):
    h, ys = tw.scan(lambda h, row: ((row + h @ w).tanh(), h.sum()), tw.zeros_like(x[0]), x)
    return (h * h).sum() + ys.sum()


def bounded_loss(x, w):
    y, n = tw.while_loop(
        lambda h, n: (h.abs().max() < 10) & (n < 4), lambda h, n: ((h @ w).relu() + h, n + 1), (x, 0), max_iterations=6
    )
    return (y * y).sum() + n


@pytest.mark.parametrize("where, how", LAYOUTS)
@pytest.mark.parametrize("loss_of", [branch_loss, recurrent_loss, bounded_loss])
def test_gradients_go_through_control_flow(where, how, loss_of):
    def f(x, w):
        loss = loss_of(x, w)
        loss.backward()
        return loss.detach()

    for sign in (1, -1):
        eager = [(values((8, 4)) * sign).requires_grad_(), values((4, 4), 1).requires_grad_()]
        compiled = [
            eager[0].detach().to_global(where, how).requires_grad_(),
            eager[1].detach().to_global(where, [B] * where.ndim).requires_grad_(),
        ]
        same(tw.jit(f)(*compiled), f(*eager))
        for one, wanted in zip(compiled, eager, strict=True):
            assert (one.grad is None) == (wanted.grad is None) or not one.grad.numpy().any()
            if wanted.grad is not None:
                assert one.grad.sbp == one.sbp
                same(one.grad, wanted.grad)


def test_gradients_of_results_go_through_control_flow():
    x = values((8, 4)).to_global(PAIR, S(0)).requires_grad_()
    w = values((4, 4), 1).to_global(PAIR, B).requires_grad_()
    tw.jit(recurrent_loss)(x, w).backward()
    eager = [t.detach().numpy().copy() for t in (x.grad, w.grad)]
    x.grad = w.grad = None
    recurrent_loss(x, w).backward()
    for one, wanted in zip(eager, (x.grad, w.grad), strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("where, how", LAYOUTS)
def test_gradients_that_nothing_global_is_read_for_lie_as_the_leaves(where, how):
    def f(x):
        y = tw.cond(x.sum() > 0, lambda: x / 2, lambda: x * 3)
        return tw.while_loop(lambda y: y.abs().sum() > 1, lambda y: y / 2, (y,), max_iterations=5)[0]

    x = values((8, 4)).to_global(where, how).requires_grad_()
    tw.jit(f)(x).sum().backward()
    found, x.grad = x.grad, None
    f(x).sum().backward()
    assert found.sbp == x.sbp
    same(found, x.grad)


def test_a_step_that_an_optimizer_takes_or_not():
    def weights(compile, place):
        tw.manual_seed(0)
        model = nn.Linear(4, 3)
        x = values((8, 4))
        if place:
            model.to_global(PAIR, B)
            x = x.to_global(PAIR, S(0))
        optimizer = tw.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss = tw.cond(loss > 0.2, lambda: loss, lambda: loss * 0.5)
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = compile(step)
        return [step(x).item() for _ in range(6)]

    np.testing.assert_allclose(weights(tw.jit, True), weights(lambda f: f, False), rtol=1e-5)


# ---- parts


def parts_in_a_branch(x):
    def halves():
        return tw.local_to_global([part * 2 + part.sum() for part in x.to_local()], x.placement, x.sbp)

    return tw.cond(x.sum() > 0, halves, lambda: x * 3)


def parts_in_a_loop(x):
    def body(h, n):
        laid = h.to_global(sbp=S(0))
        return tw.local_to_global([part.cumsum(0) for part in laid.to_local()], x.placement, S(0)) * 0.5, n + 1

    return tw.while_loop(lambda h, n: n < 3, body, (x, 0), max_iterations=4)[0]


def parts_carried(x):
    def body(h, total):
        return h * 0.5, total + sum(part.square().sum() for part in h.to_global(sbp=S(0)).to_local())

    return tw.scan(lambda carried, _: (body(*carried), None), (x, tw.zeros(())), tw.arange(3.0))[0][1]


def parts_decide_a_branch(x):
    return tw.cond(x.to_local()[0].sum() > 0, lambda: x.softmax(0), lambda: x.exp() * 2)


def parts_decide_a_loop(x):
    return tw.while_loop(
        lambda h: h.to_global(sbp=S(0)).to_local()[1].abs().sum() > 0.1, lambda h: h / 2, (x,), max_iterations=9
    )[0]


def parts_decide_what_else_they_are(x):
    mine = x.to_local()[0]
    y, part = tw.cond(mine.sum() > 0, lambda: (x * 2, mine.exp()), lambda: (x, mine * 3))
    return y.sum(), part


def parts_decide_about_themselves(x):
    mine = x.to_local()[0]
    mine = tw.cond(mine.sum() > 0, lambda: mine * 2, lambda: mine.exp())
    return tw.while_loop(lambda part: part.abs().max() > 0.1, lambda part: part * 0.5, (mine,), max_iterations=9)[0]


def parts_decide_inside(x):
    def body(h, n):
        part = h.to_global(sbp=S(0)).to_local()[0]
        return tw.cond(part.sum() > n, lambda: h * 0.5, lambda: h + n), n + 1

    return tw.while_loop(lambda h, n: n < 3, body, (x, 0), max_iterations=4)[0]


def converted_parts(x):
    part = x.to_local()[1]
    y = x * 3 if part.sum() > 0 else x.exp()
    while part.abs().sum() > 0.2:
        y = y + x
        part = part * 0.5
    return y


DECIDING = [parts_decide_a_branch, parts_decide_a_loop, parts_decide_inside, parts_decide_about_themselves]


@pytest.mark.parametrize("f", [parts_in_a_branch, parts_in_a_loop, parts_carried, *DECIDING])
@pytest.mark.parametrize("sign", [1, -1])
def test_regions_work_on_parts(f, sign):
    found, wanted = ((values((5, 3)) * sign).to_global(PAIR, S(0)).requires_grad_() for _ in range(2))
    result, expected = tw.jit(f)(found), f(wanted)
    same(result, expected)
    result.sum().backward()
    expected.sum().backward()
    same(found.grad, wanted.grad)


@pytest.mark.parametrize("f", [parts_decide_what_else_they_are, converted_parts])
@pytest.mark.parametrize("sign", [1, -1])
def test_parts_decide(f, sign):
    x = (values((5, 3)) * sign).to_global(PAIR, S(0))
    same(tw.jit(f)(x), f(x))


# ---- errors


@pytest.mark.parametrize(
    "use, error, words",
    [
        (
            lambda x, y: tw.cond(y.sum() > 0, lambda: x * 2, lambda: x),
            tw.PlacementError,
            r"cond: it decides by a local tensor, .* to_global\(placement, sbp.broadcast\)",
        ),
        (
            lambda x, y: tw.cond(x.sum() > 0, lambda: x, lambda: y),
            tw.PlacementError,
            "cond: a result lies on one placement, or is local, but it is",
        ),
        (
            lambda x, y: tw.while_loop(lambda y: y.sum() < 3, lambda y: x, (y,)),
            tw.PlacementError,
            "loop: what is carried lies on one placement, or is local",
        ),
    ],
)
def test_errors_name_the_way_out(use, error, words):
    with pytest.raises(error, match=words):
        tw.jit(use)(tw.ones(4, placement=PAIR, sbp=S(0)), tw.ones(4))
