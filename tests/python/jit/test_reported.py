"""What users of other frameworks reported about captured graphs."""

import random

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
