"""Checks of values, in programs as in eager mode."""

import pytest
import thalweg as tw

F = tw.nn.functional


def test_a_program_checks_values_when_it_runs():
    compiled = tw.jit(F.binary_cross_entropy)
    target = tw.tensor([0.0, 1.0])
    for values in ([0.5, 0.25], [0.0, 1.0]):
        x = tw.tensor(values)
        assert compiled(x, target) == F.binary_cross_entropy(x, target)
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match=r"binary_cross_entropy: the input must be in \[0, 1\] \(not so at \[1\]\)"
        ):
            compiled(tw.tensor([0.5, 1.25]), target)
    assert compiled(tw.tensor([0.5, 0.25]), target) > 0
    assert compiled.trace_count == 1


def test_a_check_that_fails_leaves_variables_as_they_were():
    weight = tw.nn.Parameter(tw.tensor([0.5, 0.5]))
    optimizer = tw.optim.SGD([weight], lr=0.1)

    @tw.jit
    def step(x, target):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy(weight * x, target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    x, target = tw.ones(2), tw.tensor([0.0, 1.0])
    step(x, target)
    before = weight.tolist()
    with pytest.raises(RuntimeError, match=r"not so at \[0\]"):
        step(x * 10, target)
    assert weight.tolist() == before
    step(x, target)
    assert weight.tolist() != before


def test_checks_of_a_differentiated_function_run_in_its_forward():
    compiled = tw.jit(lambda p, target: F.binary_cross_entropy(p, target))
    p = tw.tensor([0.25, 0.5], requires_grad=True)
    target = tw.tensor([0.0, 1.0])
    compiled(p, target).backward()
    expected = tw.tensor([0.25, 0.5], requires_grad=True)
    F.binary_cross_entropy(expected, target).backward()
    assert (p.grad == expected.grad).all()
    with pytest.raises(RuntimeError, match="must be in"):
        compiled((p * 4).detach().requires_grad_(), target)


def test_checks_of_the_backward_run_in_the_backward():
    class Picky(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return F.binary_cross_entropy(grad, tw.zeros(2), reduction="none")

    compiled = tw.jit(Picky.apply)
    x = tw.ones(2, requires_grad=True)
    y = compiled(x)
    with pytest.raises(RuntimeError, match="must be in"):
        y.backward(tw.tensor([0.5, 2.0]))
    compiled(x).backward(tw.tensor([0.0, 0.0]))
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("index", [[0, 2], [2, 2]])
def test_indexing_ops_compile(index):
    x, source = tw.arange(6.0).reshape(3, 2), tw.ones(2, 2)
    index = tw.tensor(index)
    for function in (
        lambda x, i, s: tw.index_add(x, 0, i, s),
        lambda x, i, s: tw.index_copy(x, 0, i, s),
        lambda x, i, s: tw.index_select(x, 0, i),
        lambda x, i, s: tw.index_select(s[0, 0], 0, i[:1] * 0),
    ):
        assert (tw.jit(function)(x, index, source) == function(x, index, source)).all()
    with pytest.raises(IndexError, match="index_select: indices must not be negative"):
        tw.jit(lambda x, i: tw.index_select(x, 0, i))(x, index - 1 - index.max())


def test_probabilities_are_checked():
    compiled = tw.jit(tw.bernoulli)
    assert compiled(tw.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(RuntimeError, match=r"bernoulli: probabilities must be in \[0, 1\]"):
        compiled(tw.tensor([0.0, float("nan")]))
    with pytest.raises(RuntimeError, match="normal: std must not be negative"):
        tw.jit(lambda std: tw.normal(0.0, std))(tw.tensor([1.0, -1.0]))
