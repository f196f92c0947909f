"""Bugs that others have had with static graphs: sizes, loops and random numbers fixed at what was traced."""

import thalweg as tw


def test_a_loop_over_rows_follows_the_argument():
    def count(x):
        total = tw.zeros(())
        for _ in x:
            total = total + 1
        return total

    static = tw.jit(count)
    assert static(tw.ones(20, 4, 4)).item() == 20 and static(tw.ones(5, 4, 4)).item() == 5


def test_a_size_that_is_read_follows_the_argument():
    static = tw.jit(lambda x: tw.arange(x.size(2)))
    assert [len(static(tw.ones(*size))) for size in ((3, 4, 5), (3, 4, 7), (6, 4, 5))] == [5, 7, 5]


def test_tensors_made_inside():
    def f(t):
        return tw.randn(128, 64).mul(t.sigmoid()), tw.tensor([1.0, 2.0]) * 2

    static = tw.jit(f)
    t = tw.randn(32, 128, 64)
    tw.manual_seed(5)
    expected = [f(t)[0] for _ in range(2)]
    tw.manual_seed(5)
    for draw in expected:
        result, constant = static(t)
        assert tw.allclose(result, draw) and constant.tolist() == [2, 4]
    assert static.trace_count == 1


def test_an_element_of_an_expanded_tensor():
    def f(x):
        y = x.expand(2, 2)
        y[1, 1] = 3
        return y

    a, b = tw.arange(2), tw.arange(2)
    assert tw.jit(f)(b).tolist() == f(a).tolist() == [[0, 3], [0, 3]] and a.tolist() == b.tolist() == [0, 3]
