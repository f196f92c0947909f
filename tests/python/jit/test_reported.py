"""What users of other frameworks reported about captured graphs."""

import random

import pytest
import thalweg as tw

F = tw.nn.functional


def test_a_loop_over_rows_runs_as_often_as_there_are_rows():
    @tw.jit
    def count(x):
        total = tw.zeros(())
        for _ in x:
            total = total + 1
        return total

    assert [count(tw.ones(rows, 4, 4)).item() for rows in (20, 5, 20)] == [20, 5, 20]


def test_a_size_that_is_read_is_that_of_the_call():
    positions = tw.jit(lambda x: tw.arange(x.size(2)))
    for shape in ((3, 4, 5), (3, 4, 7), (6, 4, 7)):
        assert positions(tw.ones(shape)).tolist() == list(range(shape[2]))


def test_tensors_made_inside():
    def f(t):
        return tw.randn(128, 64) * t.sigmoid() + tw.tensor([1.0, 2.0]).sum()

    compiled, t = tw.jit(f), tw.randn(32, 128, 64)
    for _ in range(3):
        tw.manual_seed(5)
        expected = [f(t), f(t)]
        tw.manual_seed(5)
        results = [compiled(t), compiled(t)]
        assert all((a == b).all() for a, b in zip(results, expected)) and (results[0] != results[1]).any()


def test_an_element_of_an_expanded_tensor():
    def f():
        x = tw.arange(2)[:1].expand(2)
        x[-1] = 3
        return x

    assert f().tolist() == [3, 3]
    compiled = tw.jit(f)
    assert [compiled().tolist() for _ in range(2)] == [[3, 3], [3, 3]]


def test_random_decisions_of_python_are_made_in_every_call():
    def f(x):
        return x * 2 if random.random() < 0.5 else x

    compiled, x = tw.jit(f), tw.ones(())
    random.seed(3)
    expected = [f(x).item() for _ in range(50)]
    random.seed(3)
    assert [compiled(x).item() for _ in range(50)] == expected and set(expected) == {1.0, 2.0}


def test_independent_dropouts_draw_in_the_order_of_eager_mode():
    def f(x, y):
        return F.dropout(y, 0.5), F.dropout(x, 0.5)

    compiled, x, y = tw.jit(f), tw.ones(64, 1024), tw.ones(4, 4)
    for seed in range(3):
        tw.manual_seed(seed)
        expected = f(x, y)
        tw.manual_seed(seed)
        assert all((a == b).all() for a, b in zip(compiled(x, y), expected))


def test_what_is_added_in_place_is_added_once():
    def f(x, y):
        x += y.mean()
        return x

    y = tw.arange(6.0).reshape(2, 3)
    for function in (f, tw.jit(f)):
        x = tw.ones(2, 3)
        for call in (1, 2):
            assert function(x, y).tolist() == x.tolist() == [[1 + 2.5 * call] * 3] * 2


def test_a_change_in_place_behind_an_op_that_gave_its_input_back():
    def f(x):
        y = F.dropout(x, 0.5, training=False)
        y *= 2
        return y

    for function in (f, tw.jit(f)):
        x = tw.ones(2, 2)
        assert function(x).tolist() == x.tolist() == [[2, 2], [2, 2]]


def test_products_that_do_not_fit_say_the_same_in_a_graph():
    cases = (
        (lambda a, b: a @ b, tw.ones(3, 3, dtype=tw.float64), tw.ones(3, 3)),
        (F.linear, tw.ones(302), tw.ones(1, 128)),
        (lambda a, b: a @ b, tw.ones(16, 264, 32, 32), tw.ones(20, 2048)),
    )
    for function, a, b in cases:
        messages = []
        for call in (function, tw.jit(function)):
            with pytest.raises(RuntimeError) as caught:
                call(a, b)
            messages.append(str(caught.value).splitlines()[0])
        assert messages[0] == messages[1]
        wanted = ("float64", "float32") if a.dtype != b.dtype else (str(list(a.shape)), str(list(b.shape)))
        assert all(word in messages[0] for word in wanted)
