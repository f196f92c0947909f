"""Python's if, while and for over tensors in compiled functions: the same as eagerly, in one build."""

import pytest
import thalweg as tw
from compiled import check
from thalweg import nn

X = tw.tensor([1.0, 2.0, 3.0])


def numbers(*values):
    return [(tw.tensor(value),) for value in values]


def test_if_elif_else():
    def f(x):
        if x > 3:
            y = x * 2
            kind = 1
        elif x < 0:
            y = -x
            kind = 2
        else:
            y = x + 1
            kind = 1
        return y, kind

    check(f, *numbers(5.0, -2.0, 1.0))


def test_early_return():
    def f(x):
        if x > 3:
            return x * 2
        y = x + 1
        if y < 0:
            if y < -5:
                return y
            y = y * 10
        return y - 1

    check(f, *numbers(5.0, -2.0, -7.0, 1.0))


def test_while_with_break_continue_and_else():
    def f(n):
        total = tw.tensor(0)
        i = tw.tensor(0)
        while i < n:
            i = i + 1
            if i % 2 == 0:
                continue
            if i > 7:
                break
            total = total + i
        else:
            total = total + 1000
        return total, i

    check(f, *numbers(0, 1, 5, 6, 20))


def test_return_inside_loops():
    def f(n):
        for i in range(n):
            j = tw.tensor(0)
            while j < i:
                if i * j > 20:
                    return i, j
                j = j + 1
        return n, n * 0

    check(f, *numbers(0, 3, 5, 6, 50))


def test_for_over_a_range_of_tensors():
    def f(n):
        a, b = 0, 1
        for i in range(1, n, 2):
            a, b = b, a + b + i
        return a, b

    compiled = check(f, *numbers(1, 2, 5, 30))
    assert compiled.trace_count == 1


def test_for_over_rows():
    def f(x):
        total = tw.zeros(2)
        for row in x:
            if row.sum() > 50:
                break
            total = total + row
        return total

    check(f, (tw.arange(40.0).reshape(20, 2),), (tw.arange(40.0).reshape(20, 2) * 3,))
    check(f, (tw.arange(6.0).reshape(3, 2),), (tw.arange(6.0).reshape(3, 2) * 30,))


def test_rows_that_a_list_collects_are_unrolled():
    def f(x):
        rows = []
        for row in x:
            rows.append(row * 2)
        return tw.stack(rows)

    check(f, (tw.arange(40.0).reshape(20, 2),))
    compiled = tw.jit(f)
    assert compiled(tw.ones(12, 2)).shape == (12, 2) and compiled(tw.ones(10, 2)).shape == (10, 2)


def test_and_or_not_and_chains():
    def f(x, y):
        if x > 0 and not y > 0:
            r = 1
        elif 0 < y < 2 or x < -5:
            r = 2
        else:
            r = 3 if x == 0 else 4
        return r

    cases = [(1, -1), (1, 1), (-6, 5), (0, 3), (2, 3), (-1, -1)]
    check(f, *[(tw.tensor(a), tw.tensor(b)) for a, b in cases])


def test_the_second_operand_is_evaluated_where_python_does():
    def f(x):
        if x.sum() > 0 and tw.rand(()) > 0.5:
            x = x * 2
        return x + tw.rand(3)

    compiled = tw.jit(f)
    for sign in (1, -1):
        compiled(X * sign)
        results = []
        for function in (compiled, f):
            tw.manual_seed(11)
            results.append([function(X * sign), tw.rand(2)])
        assert all(tw.allclose(a, b) for a, b in zip(*results))


def test_python_conditions_stay_pythons():
    def f(x, flag):
        for i in range(3):
            if flag and i % 2:
                x = x + i
        names = {"a": 1}
        if "a" in names:
            return x
        return None

    check(f, (X, True))


def helper(x, limit=2.0):
    while x.sum() > limit:
        x = x / 2
    return x


class Halver(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(tw.tensor(0.5))
        self.register_buffer("calls", tw.zeros(()))

    def forward(self, x):
        while x.sum() > 1:
            x = x * self.scale
            self.calls += 1
        return self.__finish(x)

    def __finish(self, x):
        if x.sum() < 0.7:
            x = x + 1
        return x


def test_functions_methods_and_modules_that_are_called_are_converted():
    module = Halver()
    net = nn.Sequential(module, nn.Identity())

    def f(x):
        with tw.no_grad():
            return helper(x), net(x)

    check(f, (X,), (X * 100,), (X / 100,))
    module.calls.zero_()
    tw.jit(f)(X)
    assert module.calls.item() == 3


def test_decorated_functions():
    @tw.no_grad()
    def f(x):
        if x.sum() > 0:
            x = x * 2
        return x

    check(lambda x: f(x), (X,), (-X,))
    check(f, (X,), (-X,))


def test_closures_defaults_and_keyword_arguments():
    offset = tw.tensor(1.0)
    step = 2

    def outer(x, *rest, scale=3.0, **options):
        def inner(y):
            nonlocal step
            if y > 0:
                y = y + offset
            return y * step

        total = inner(x)
        for r in rest:
            total = total + inner(r)
        return total * scale + options.get("bias", 0.0)

    def f(x):
        return outer(x, x * -2, bias=1.0), outer(x, scale=1.0)

    check(f, *numbers(1.0, -1.0))


def test_attributes_that_a_branch_assigns():
    class Counter:
        def __init__(self):
            self.value = 0

        def run(self, x):
            if x > 0:
                self.value = x * 2
            else:
                self.value = -x
            return self.value + 1

    check(lambda x: Counter().run(x), *numbers(2.0, -2.0))


def test_gradients_through_converted_code():
    w = tw.tensor(1.5, requires_grad=True)

    def f(x):
        y = x
        for row in range(3):
            if y.sum() > row:
                y = y * w
            else:
                y = y - w
        return y.sum()

    for scale in (1.0, -1.0):
        results = []
        for function in (tw.jit(f), f):
            w.grad = None
            x = (X * scale).requires_grad_()
            function(x).backward()
            results.append((x.grad, w.grad))
        assert all(tw.allclose(a, b) for a, b in zip(*results))


def test_gradients_through_loops_over_rows():
    cell = nn.RNNCell(3, 4)

    def f(xs):
        h = tw.zeros(2, 4)
        for x in xs:
            h = cell(x, h)
        return h.square().sum()

    xs = tw.arange(60.0).reshape(10, 2, 3) / 60
    results = []
    for function in (tw.jit(f), f):
        cell.zero_grad()
        function(xs).backward()
        results.append([p.grad for p in cell.parameters()])
    assert all(tw.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(*results))


def message(function, *args):
    with pytest.raises(Exception) as caught:
        tw.jit(function)(*args)
    return str(caught.value)


def test_errors_show_the_line_and_the_way_out():
    def shapes(x):
        if x.sum() > 0:
            x = x[:1]
        return x

    text = message(shapes, X)
    assert (
        "if x.sum() > 0:" in text
        and __file__ in text
        and "x has no value here: it must have the same dtype and shape" in text
    )

    def one_sided(x):
        if x.sum() > 0:
            y = x
        return y + 1

    text = message(one_sided, X)
    assert "y has no value here: only one branch" in text and "if x.sum() > 0:" in text

    def kinds(x):
        if x.sum() > 0:
            y = "a"
        else:
            y = None
        return y

    assert "y has no value here: it must be the same in structure" in message(kinds, X)

    def grows(n):
        x = tw.zeros(1)
        for _ in range(n):
            x = tw.cat([x, x])
        return x

    text = message(grows, tw.tensor(3))
    assert "x keeps its dtype and shape" in text and "for _ in range(n):" in text

    def lists(n):
        seen = []
        while n > 0:
            seen.append(n)
            n = n - 1
        return seen

    text = message(lists, tw.tensor(3))
    assert "list, dict or set of Python is changed" in text and "while n > 0:" in text


def test_the_value_of_a_tensor_is_refused_where_there_is_no_source():
    scope = {}
    exec("def f(x):\n    if x.sum() > 0:\n        x = -x\n    return x", scope)
    text = message(lambda x: scope["f"](x), X)
    assert "cannot read the value of a tensor" in text and "<string>, line 2" in text and "tw.cond" in text


def test_lambdas_are_converted():
    check(lambda x: (lambda y: y * 2 if y.sum() > 3 else -y)(x + 1 if x[0] > 0 else x), (X,), (-X,))


def test_one_build_serves_one_to_a_thousand_iterations():
    def f(n):
        x = tw.tensor(1.0)
        for i in range(n):
            x = x * 1.001 + i * 0.001
        return x

    compiled = check(f, *numbers(1, 2, 10, 1000))
    assert compiled.trace_count == 1


def test_match_nonlocal_and_nested_functions():
    def f(x):
        total = tw.tensor(0.0)

        def add(y):
            nonlocal total
            if y > 1:
                total = total + y

        for kind in ("a", "b"):
            match kind:
                case "a":
                    if x > 5:
                        break
                    add(x)
                case _:
                    add(x * 2)
        return total

    check(f, *numbers(0.5, 1.0, 3.0, 6.0))


def test_with_and_try_around_control_flow():
    def f(x):
        try:
            with tw.no_grad():
                while x < 10:
                    x = x * 2
                    if x > 7:
                        break
        finally:
            x = x + 1
        return x

    check(f, *numbers(1.0, 3.0, 20.0))

    def returns(x):
        with tw.no_grad():
            if x > 0:
                return x
        return -x

    assert "inside of `with`" in message(returns, tw.tensor(1.0))


COUNT = 0


def test_global_names_are_refused_where_a_tensor_decides():
    def f(x):
        global COUNT
        if x > 0:
            COUNT = COUNT + 1
        return x

    text = message(f, tw.tensor(1.0))
    assert "what a `global` name is" in text and "if x > 0:" in text
    assert COUNT == 0


def test_compiled_functions_inside_of_compiled_ones():
    inner = tw.jit(helper)
    check(lambda x: inner(x) + 1, (X,), (X * 100,))


def double_each(tree, depth=0):
    """Calls itself, and reads a name of its module."""
    if isinstance(tree, list):
        return [double_each(item, depth + 1) for item in tree]
    return tw.add(tree, tree) if depth else tree


def test_a_function_that_calls_itself_finds_the_names_of_its_module():
    def closed(n):
        return n if n <= 0 else n + closed(n - 1)

    x = tw.tensor(3.0)
    compiled = tw.jit(lambda x, n: (double_each([x, [x, x]]), closed(n) + x), static_argnums=(1,))
    (first, (second, _)), total = compiled(x, 4)
    assert first == 6 and second == 6 and total == 13


def test_an_element_that_a_loop_writes_is_written_in_place():
    def f(n):
        out = tw.zeros(100, 64)
        i = tw.tensor(0)
        while i < n:
            out[i] = out[i - 1] + 1
            i = i + 1
        return out.sum(1)

    compiled = check(f, *numbers(1, 5, 100))
    assert compiled.programs()[0].step.arena_bytes() < 1.5 * 100 * 64 * 4


def bounded(x, limit):
    with tw.jit.max_iterations(6):
        while x.sum() < limit:
            x = x * 2 if x[0] < 3 else x + 5
    return x


def bounded_range(x, n):
    with tw.jit.max_iterations(6):
        for i in range(n):
            if i == 4:
                break
            x = x * (i + 1)
    return x


@pytest.mark.parametrize("f, wanted", [(bounded, [1.0, 20.0, 40.0]), (bounded_range, [0, 1, 3, 6])])
def test_loops_with_a_bound_are_differentiated(f, wanted):
    compiled = tw.jit(f)
    for value in wanted:
        grads = []
        for g in (f, compiled):
            x = tw.tensor([1.0, 2.0], requires_grad=True)
            y = g(x, tw.tensor(value))
            y.square().sum().backward()
            grads.append((y.tolist(), x.grad.tolist()))
        assert grads[0] == grads[1]
    assert compiled.trace_count == 1


def test_a_loop_that_goes_beyond_its_bound_is_an_error():
    compiled = tw.jit(bounded)
    x = tw.tensor([1.0, 2.0])
    assert compiled(x, tw.tensor(20.0)).tolist() == bounded(x, tw.tensor(20.0)).tolist()
    with pytest.raises(
        RuntimeError, match=r"while: it wants more iterations than tw.jit.max_iterations\(6\)"
    ) as raised:
        compiled(x, tw.tensor(1e9))
    assert "test_convert.py" in str(raised.value)
    assert compiled(x, tw.tensor(20.0)).tolist() == bounded(x, tw.tensor(20.0)).tolist()  # the next call works
    with pytest.raises(ValueError, match="max_iterations"), tw.jit.max_iterations(-1):
        pass
