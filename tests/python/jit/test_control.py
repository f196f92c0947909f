"""tw.cond, tw.while_loop and tw.scan in static programs: the same as eagerly, in one build."""

import pytest
import thalweg as tw
from compiled import check
from thalweg import nn

X = tw.tensor([1.0, 2.0, 3.0])


def test_cond_takes_the_branch_of_the_run():
    w = tw.tensor([2.0, 2.0, 2.0])
    check(
        lambda x: tw.cond(x.sum() > 0, lambda x: x * w, lambda x: x - w, (x,)),
        (X,),
        (-X,),
        (X * 2,),
    )


def test_cond_nests_and_returns_structures():
    def f(x, y):
        def inner(a):
            return tw.cond(a.max() > 2, lambda: {"r": a + 1, "n": 3}, lambda: {"r": a - 1, "n": 3})

        return tw.cond(y > 0, lambda x, y: (inner(x), y, 1), lambda x, y: ({"r": -x, "n": 3}, y * 2, 2), (x, y))

    check(f, (X, tw.tensor(1.0)), (X / 3, tw.tensor(1.0)), (X, tw.tensor(-1.0)))


def test_cond_writes_to_tensors_of_the_outside():
    count, total = tw.zeros(2), tw.zeros(3)

    def f(x):
        def yes():
            count[0] += 1
            total.add_(x)
            return x * 2

        def no():
            count[1] += 1
            return x.clone()

        return tw.cond(x.sum() > 0, yes, no)

    compiled = tw.jit(f)
    for sign in (1, -1, 1, 1):
        compiled(X * sign)
    assert count.tolist() == [3.0, 1.0] and total.tolist() == [3.0, 6.0, 9.0]
    assert compiled.trace_count == 1


def test_views_made_before_see_what_a_branch_wrote():
    def f(x):
        y = x.clone()
        row = y[0]
        tw.cond(x.sum() > 0, lambda: y.mul_(2)[0].sum(), lambda: row.add_(5).sum())
        return row, y

    check(f, (tw.ones(2, 2),), (-tw.ones(2, 2),))


def test_branches_that_differ_are_refused_with_what_they_gave():
    x = tw.ones(3)
    with pytest.raises(TypeError, match=r"same dtypes and shapes, got a float32 tensor of shape \[3\] and .*\[\]"):
        tw.jit(lambda x: tw.cond(x.sum() > 0, lambda: x, lambda: x.sum()))(x)
    with pytest.raises(TypeError, match="same structure"):
        tw.jit(lambda x: tw.cond(x.sum() > 0, lambda: (x, x), lambda: x))(x)


def test_a_tensor_made_in_a_branch_does_not_leave_it():
    kept = []

    def f(x):
        tw.cond(x.sum() > 0, lambda: kept.append(x * 2) or x, lambda: x)
        return kept[0] + 1

    with pytest.raises(RuntimeError, match="returned by the branch"):
        tw.jit(f)(tw.ones(3))


def test_random_numbers_in_branches_are_those_of_eager_mode():
    def f(x):
        before = tw.rand(2)
        y = tw.cond(x.sum() > 0, lambda: tw.rand(3) + tw.rand(3), lambda: x * 1)
        return before, y, tw.rand(2)

    compiled = tw.jit(f)
    for sign in (1, -1, 1):
        for function in (compiled, f):
            tw.manual_seed(7)
            got = [*function(X * sign), tw.rand(2)]
            if function is compiled:
                ours = got
        assert all(a.equal(b) for a, b in zip(ours, got))


def test_gradients_of_cond():
    w = tw.tensor([0.5, 1.5, 2.5], requires_grad=True)

    def f(x, y):
        loss = tw.cond(x.sum() > 0, lambda: (x.exp() * w).sum(), lambda: (w * w * x).sum() + y.sum())
        return loss * 2

    for sign in (1, -1):
        grads = []
        for function in (tw.jit(f), f):
            x = (X * sign).requires_grad_()
            y = tw.ones(2, requires_grad=True)
            w.grad = None
            function(x, y).backward()
            grads.append([x.grad, w.grad, y.grad])
        for a, b in zip(*grads):
            b = tw.zeros_like(a) if b is None else b  # in a program a gradient that does not flow is zero
            assert tw.allclose(a, b)


def test_backward_inside_a_program():
    torch_like = nn.Linear(3, 3)

    def step(x):
        torch_like.zero_grad()
        h = tw.cond(x.mean() > 0, lambda: torch_like(x).tanh(), lambda: torch_like(x) * 2)
        loss = h.square().mean()
        loss.backward()
        return loss.detach(), torch_like.weight.grad, torch_like.bias.grad

    compiled = tw.jit(step)
    for sign in (1, -1, 1):
        ours = [t.clone() for t in compiled(X * sign)]
        theirs = step(X * sign)
        assert all(tw.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(ours, theirs))


def test_while_loop_runs_as_often_as_the_data_say():
    def collatz(n):
        def body(n, count):
            return tw.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), count + 1

        return tw.while_loop(lambda n, count: n > 1, body, (n, tw.tensor(0)))

    compiled = check(collatz, *[(tw.tensor(n),) for n in (1, 2, 7, 27, 97)])
    assert compiled(tw.tensor(27))[1].item() == 111
    assert compiled.trace_count == 1


def test_while_loop_carries_numbers_and_nested_structures():
    def f(x, n):
        def body(state, i, scale):
            return {"x": state["x"] * scale, "seen": [state["seen"][0] + i]}, i + 1, scale * 0.5

        return tw.while_loop(lambda state, i, scale: i < n, body, ({"x": x, "seen": [0]}, 0, 1.0), max_iterations=10)

    five = tw.tensor(5)
    got = check(f, (X, five), (X, tw.tensor(0)))(X, five)
    assert got[1].dtype == tw.int64 and got[2].dtype == tw.float32


def test_a_number_takes_the_dtype_that_the_body_gives_it():
    def f(x, n):
        return tw.while_loop(lambda t, i: i < n, lambda t, i: (t + x.sum(), i + 1), (0, 0))

    total, _ = tw.jit(f)(X, tw.tensor(3))
    assert total.item() == 18.0 and total.dtype == tw.float32


def test_while_loop_swaps_and_does_nothing():
    def f(a, b, n):
        return tw.while_loop(lambda a, b, n: n > 0, lambda a, b, n: (b, a, n - 1), (a, b, n))

    check(f, *[(X, X * 2, tw.tensor(n)) for n in (0, 1, 2, 3)])


def test_while_loop_stops_at_max_iterations():
    check(lambda x: tw.while_loop(lambda x: x.sum() < 1e9, lambda x: x * 2, x, max_iterations=3), (X,))


def test_loops_write_to_tensors_of_the_outside():
    seen, count = tw.zeros(10), tw.zeros(())

    def f(n):
        def body(i):
            seen[2] += 1
            count.add_(seen[2])
            return i + 1

        return tw.while_loop(lambda i: i < n, body, tw.tensor(0))

    compiled = tw.jit(f)
    compiled(tw.tensor(3))
    compiled(tw.tensor(2))
    assert seen.tolist()[2] == 5 and count.item() == 1 + 2 + 3 + 4 + 5


def test_scan_stacks_and_carries():
    xs = {"a": tw.arange(12.0).reshape(4, 3), "b": tw.arange(4)}
    w = tw.tensor([0.5, 1.0, 2.0])

    for reverse in (False, True):

        def f(init, xs, reverse=reverse):
            def step(c, x):
                c = (c[0] * w + x["a"], c[1] + x["b"])
                return c, {"y": c[0].sum(), "z": (x["b"] * 2, 1.5)}

            return tw.scan(step, (init, tw.tensor(0)), xs, reverse=reverse)

        check(f, (tw.zeros(3), xs), (tw.ones(3), xs))


def test_scan_writes_to_its_parts():
    def f(x, y):
        def body(total, parts):
            a, b = parts
            a += b
            b[0] = total
            return total + a.sum(), a * 2

        return tw.scan(body, tw.tensor(1.0), (x, y), reverse=True)

    results = []
    for run in (f, tw.jit(f)):
        x, y = tw.arange(6.0).reshape(3, 2), tw.ones(3, 2)
        total, stacked = run(x, y)
        results.append([total.item(), stacked.tolist(), x.tolist(), y.tolist()])
    assert results[0] == results[1]


def test_scan_without_parts_needs_a_length():
    check(lambda x: tw.scan(lambda c, _: (c * 2, c), x, length=5), (X,))
    with pytest.raises(ValueError, match="one length is wanted"):
        tw.scan(lambda c, x: (c, x), X)


@pytest.mark.parametrize("steps", [1, 4])
def test_random_numbers_in_loops_are_those_of_eager_mode(steps):
    def f(n):
        def body(x, i):
            noise = tw.cond(i > 1, lambda: tw.rand(3) + tw.rand(3), lambda: tw.randn(3))
            return x + noise + tw.rand(3), i + 1

        first = tw.rand(1)
        x, _ = tw.while_loop(lambda x, i: i < n, body, (tw.zeros(3), tw.tensor(0)))
        ys = tw.scan(lambda c, _: (c, tw.rand(2)), 0.0, length=3)[1]
        return first, x, tw.rand(2), ys, tw.rand(2)

    n = tw.tensor(steps)
    compiled = tw.jit(f)
    compiled(n)
    results = []
    for function in (compiled, f):
        tw.manual_seed(3)
        results.append([*function(n), tw.rand(4)])
    assert all(tw.allclose(a, b) for a, b in zip(*results))


def grads_of(function, *given):
    inputs = [x.detach().clone().requires_grad_() for x in given]
    function(*inputs).backward()
    return [tw.zeros_like(x) if x.grad is None else x.grad for x in inputs]


def test_gradients_of_scan():
    def f(h, w, xs):
        def step(h, x):
            h = (h @ w + x).tanh()
            return h, h * x

        last, ys = tw.scan(step, h, xs)
        return last.sum() + (ys * ys).sum()

    given = tw.ones(2, 3) * 0.1, tw.arange(9.0).reshape(3, 3) / 9, tw.arange(30.0).reshape(5, 2, 3) / 30
    for ours, theirs in zip(grads_of(tw.jit(f), *given), grads_of(f, *given)):
        assert tw.allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_gradients_of_while_loop():
    def f(x, w):
        y, _ = tw.while_loop(
            lambda y, n: y.sum() < 100, lambda y, n: (y * w + y.sin(), n + 1), (x, 0), max_iterations=50
        )
        return y.square().sum()

    compiled = tw.jit(f)
    for scale in (1.0, 20.0, 40.0):
        given = X * scale, tw.tensor([1.5, 2.0, 1.1])
        for ours, theirs in zip(grads_of(compiled, *given), grads_of(f, *given)):
            assert tw.allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_gradients_of_nested_control_flow():
    n = tw.tensor(2)

    def f(x, w, xs):
        def step(h, x):
            h = tw.cond(x.sum() > 0, lambda: (h * w).tanh(), lambda: h - x.exp())
            h, _ = tw.while_loop(
                lambda h, i: i < n, lambda h, i: (h * 1.1 + w.sin() * h, i + 1), (h, 0), max_iterations=3
            )
            return h, h.sum()

        last, ys = tw.scan(step, x, xs)
        return last.sum() * ys.sum()

    given = X, X / 5, tw.tensor([[1.0, 2, 3], [-1, -2, 1], [0.5, 0, 0]])
    for ours, theirs in zip(grads_of(tw.jit(f), *given), grads_of(f, *given)):
        assert tw.allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_backward_without_a_bound_says_so():
    def f(x):
        return tw.while_loop(lambda x: x.sum() < 10, lambda x: x * 2, x).sum()

    x = tw.ones(3, requires_grad=True)
    y = tw.jit(f)(x)
    assert y.item() == 12
    with pytest.raises(RuntimeError, match="max_iterations"):
        y.backward()


def test_dropout_inside_a_scan_is_differentiated_with_its_own_masks():
    linear = nn.Linear(3, 3)

    def step(xs):
        linear.zero_grad()
        h, _ = tw.scan(lambda h, x: (tw.nn.functional.dropout(linear(h + x), 0.5).tanh(), None), tw.zeros(2, 3), xs)
        h.sum().backward()
        return linear.weight.grad

    xs = tw.arange(24.0).reshape(4, 2, 3)
    compiled = tw.jit(step)
    results = []
    for function in (compiled, step):
        tw.manual_seed(5)
        results.append(function(xs).clone())
    assert tw.allclose(*results, rtol=1e-5, atol=1e-6)


def test_programs_with_regions_are_saved_and_loaded(tmp_path):
    linear = nn.Linear(3, 3)

    def f(x, n):
        x, _ = tw.while_loop(lambda x, i: i < n, lambda x, i: (linear(x).relu() + 0.1, i + 1), (x, tw.tensor(0)))
        return tw.cond(x.sum() > 1, lambda: x * 2, lambda: x)

    path = str(tmp_path / "loop.tw")
    with tw.no_grad():
        tw.save_graph(path, tw.jit(f), X, tw.tensor(2))
        loaded = tw.load_graph(path)
        for n in (0, 1, 5):
            assert tw.allclose(loaded(X, tw.tensor(n)), f(X, tw.tensor(n)), rtol=1e-6, atol=1e-6)


def test_gradients_through_what_is_written_in_place():
    def f(x, w, sign, n):
        y = x * 1
        row = y[0]
        tw.cond(sign > 0, lambda: y.mul_(w)[0].sum(), lambda: row.mul_(x[1]).sum())

        def body(i):
            row.mul_(w[0])
            y[1] = y[1] * 1.5 + x[2]
            return i + 1

        tw.while_loop(lambda i: i < n, body, tw.tensor(0), max_iterations=5)
        out = tw.zeros(4, 3)

        def step(h, x):
            h = (h * w[1]).tanh() + x
            out[2] += h
            return h, None

        tw.scan(step, y[2], x)
        return (y * y).sum() + (row.exp() * out).sum()

    given = tw.arange(9.0).reshape(3, 3) / 9, tw.tensor([[1.0, 1.5, 0.5], [0.5, 1, 2], [1, 1, 1]])
    for sign in (1.0, -1.0):
        for n in (0, 3):
            more = tw.tensor(sign), tw.tensor(n)

            def g(x, w, more=more):
                return f(x, w, *more)

            for a, b in zip(grads_of(tw.jit(g), *given), grads_of(g, *given)):
                assert tw.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_plan_of_a_loop_runs_in_the_memory_that_was_foreseen():
    def f(x, n):
        return tw.while_loop(lambda x, i: i < n, lambda x, i: ((x @ x).tanh() @ x, i + 1), (x, tw.tensor(0)))[0]

    compiled = tw.jit(f)
    assert tw.allclose(compiled(tw.eye(64), tw.tensor(3)), f(tw.eye(64), tw.tensor(3)))
    step = compiled.programs()[0].step
    # One iteration holds two products at a time, however many follow one another.
    assert 2 * 64 * 64 * 4 <= step.arena_bytes() <= 4 * 64 * 64 * 4 + 1024
    text = str(step.plan())
    assert "region 0 kind=loop carried=2" in text and "body" in text


def test_what_is_no_function_condition_or_pair_is_named():
    with pytest.raises(TypeError, match="jit: a function is wanted, got int"):
        tw.jit(3)
    for run in (lambda f: f(), lambda f: tw.jit(f)()):
        with pytest.raises(TypeError, match="cond: its predicate is a bool or a tensor of one element"):
            run(lambda: tw.cond(tw.ones(2) > 0, lambda: tw.ones(()), lambda: tw.zeros(())))
        with pytest.raises(TypeError, match="scan: f must return a pair, the carried values and a result, got"):
            run(lambda: tw.scan(lambda c, x: c, tw.zeros(()), tw.ones(3)))
