"""Where results lie in memory: PyTorch's rules, written out in tests/ops/memory_order.py."""

import copy

import numpy as np
import pytest
import thalweg as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_order import channels_last, is_dense, pointwise, row_major
from thalweg.nn import functional as F

RANDOM = [tw.rand_like, tw.randn_like, lambda x, **o: tw.randint_like(x, 5, **o)]
LIKES = [tw.empty_like, tw.zeros_like, tw.ones_like, lambda x, **o: tw.full_like(x, 3, **o), *RANDOM]


@st.composite
def views(draw, shape):
    """A tensor that broadcasts to shape: permuted, cut, expanded or channels_last."""
    rank = len(shape)
    if rank == 4 and draw(st.booleans()):
        return tw.ones(shape).to(memory_format=tw.channels_last)
    order = draw(st.permutations(range(rank)))
    steps = [draw(st.sampled_from([1, 1, 2])) for _ in order]
    base = tw.ones([shape[d] * s for d, s in zip(order, steps, strict=True)])
    for dim, step in enumerate(steps):
        base = base[(slice(None),) * dim + (slice(None, None, step),)]
    result = base.permute([order.index(d) for d in range(rank)])
    for dim in range(rank):
        kind = draw(st.sampled_from(["whole", "whole", "whole", "one", "expanded"]))
        if kind != "whole":
            result = result.narrow(dim, 0, 1)
        if kind == "expanded":
            result = result.expand(*[shape[d] if d == dim else -1 for d in range(rank)])
    return result[0] if rank > 1 and draw(st.integers(0, 5)) == 0 else result


@st.composite
def operands(draw, count):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    return [draw(views(shape)) for _ in range(count)]


def rule(result, *inputs):
    return pointwise(result.shape, [(x.shape, x.stride()) for x in inputs])


@settings(max_examples=150, deadline=None)
@given(operands(3))
def test_pointwise_results(tensors):
    a, b, c = tensors
    mask = a > 5
    for y, *inputs in (
        (tw.neg(a), a),
        (F.relu(a), a),
        (a.clone(), a),
        (a.to(tw.float64), a),
        (a + b, a, b),
        (a < b, a, b),
        (a * 2, a, tw.tensor(2.0)),
        (tw.addcmul(a, b, c), a, b, c),
        (tw.where(mask, b, c), mask, b, c),
    ):
        assert y.stride() == rule(y, *inputs)
    assert (a + b == 2).all() and (tw.addcmul(a, b, c) == 2).all()


@settings(max_examples=60, deadline=None)
@given(operands(1))
def test_likes(tensors):
    (x,) = tensors
    wanted = tuple(x.stride()) if is_dense(x.shape, x.stride()) and not x.is_contiguous() else rule(x, x)
    for like in LIKES:
        y = like(x)
        assert y.shape == x.shape and y.stride() == wanted
        assert like(x, memory_format=tw.contiguous_format).stride() == row_major(x.shape)
        if x.ndim == 4:
            assert like(x, memory_format=tw.channels_last).stride() == channels_last(x.shape)
    assert (tw.full_like(x, 3) == 3).all()


def test_random_numbers_do_not_depend_on_the_order():
    x = tw.zeros(2, 3, 4, 5)
    for like in RANDOM:
        results = []
        for model in (x, x.to(memory_format=tw.channels_last), x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)):
            tw.manual_seed(3)
            results.append(like(model).numpy())
        assert all(np.array_equal(results[0], other) for other in results)


def test_conversions():
    x = tw.arange(120).reshape(2, 3, 4, 5).float()
    last = x.to(memory_format=tw.channels_last)
    assert last.stride() == (60, 1, 15, 3) and (last == x).all()
    assert last.to(memory_format=tw.channels_last) is last and x.to(memory_format=tw.contiguous_format) is x
    assert last.to(memory_format=tw.contiguous_format).stride() == (60, 20, 5, 1)
    for y in (last.double(), last.to(tw.float64), last.clone(), copy.deepcopy(last), last.to(tw.float32, copy=True)):
        assert y.stride() == last.stride() and (y == x).all() and y is not last
    assert last.double(memory_format=tw.contiguous_format).stride() == (60, 20, 5, 1)
    assert last.clone(memory_format=tw.contiguous_format).is_contiguous()
    assert x.clone(memory_format=tw.channels_last).stride() == (60, 1, 15, 3)
    # to() goes by what strides tell, contiguous() by whether there are gaps.
    cut = last[:, :2]
    assert cut.to(memory_format=tw.channels_last) is cut
    assert cut.contiguous(memory_format=tw.channels_last).stride() == (40, 1, 10, 2)
    weight = tw.ones(4, 6, 1, 1)
    assert weight.contiguous(memory_format=tw.channels_last) is weight
    assert weight.to(memory_format=tw.channels_last).stride() == (6, 1, 6, 6)
    assert tw.empty(2, 3, 4, 5, memory_format=tw.channels_last).stride() == (60, 1, 15, 3)
    for refused in (
        lambda: tw.empty(2, 3, memory_format=tw.channels_last),
        lambda: tw.empty_like(x[0], memory_format=tw.channels_last),
        lambda: tw.empty(2, 3, 4, 5, memory_format=tw.preserve_format),
        lambda: x[0].clone(memory_format=tw.channels_last),
    ):
        with pytest.raises(RuntimeError):
            refused()


def test_copies_keep_gradients():
    x = tw.arange(120).reshape(2, 3, 4, 5).double().requires_grad_()
    for copy_of in (
        lambda t: t.clone(memory_format=tw.channels_last),
        lambda t: t.to(memory_format=tw.channels_last),
        lambda t: t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
    ):
        (g,) = tw.autograd.grad((copy_of(x) ** 2).sum(), [x])
        assert (g == 2 * x).all()


def test_modules():
    model = tw.nn.Sequential(tw.nn.Conv2d(3, 4, 3), tw.nn.BatchNorm2d(4), tw.nn.Flatten(), tw.nn.Linear(4, 2))
    assert model.to(memory_format=tw.channels_last) is model
    assert model[0].weight.stride() == (27, 1, 9, 3) and model[3].weight.is_contiguous()
    model(tw.ones(2, 3, 3, 3)).sum().backward()
    assert model[0].weight.grad.stride() == model[0].weight.stride()
    loaded = tw.nn.Conv2d(3, 4, 3)
    loaded.load_state_dict(model[0].state_dict())
    assert (loaded.weight == model[0].weight).all() and loaded.weight.is_contiguous()


def test_gradients_of_leaves_lie_as_the_leaves_do():
    def leaf(*size):
        return tw.randn(*size).requires_grad_()

    for p, g in ((leaf(4, 6), tw.randn(6, 4).t()), (leaf(4, 6), tw.ones(1).expand(4, 6))):
        (p * 1).backward(g)
        assert p.grad.stride() == (6, 1) and (p.grad == g).all()
    turned = tw.randn(6, 4).t().requires_grad_()
    (turned * 1).backward(tw.ones(4, 6))
    assert turned.grad.stride() == (1, 4)
    gaps = tw.randn(4, 6)[:, ::2].detach().requires_grad_()
    (gaps * 1).backward(tw.randn(3, 4).t())
    assert gaps.stride() == (6, 2) and gaps.grad.stride() == (3, 1)
    (twice,) = tw.autograd.grad((turned**3).sum(), [turned], create_graph=True)
    twice.sum().backward()
    assert turned.grad.stride() == (1, 4) and tw.allclose(turned.grad, 6 * turned + 1)


def test_chains_stay_channels_last():
    """A residual block makes no row-major tensor on the way, forward or backward."""
    x = tw.randn(2, 4, 6, 5).to(memory_format=tw.channels_last).requires_grad_()
    conv = tw.nn.Conv2d(4, 4, 3, padding=1).to(memory_format=tw.channels_last)
    norm = tw.nn.BatchNorm2d(4)
    steps = [conv(x)]
    steps.append(norm(steps[-1]))
    steps.append(F.relu(steps[-1] + x))
    steps.append(F.max_pool2d(steps[-1], 3, 2, 1))
    for y in steps:
        y.retain_grad()
        assert y.stride() == channels_last(y.shape)
    F.adaptive_avg_pool2d(steps[-1], 1).flatten(1).square().sum().backward()
    for y in (x, *steps[:-1]):  # the mean's own gradient is a view
        assert y.grad.stride() == channels_last(y.shape)


def test_reshape_of_permuted_results():
    x = tw.arange(120).reshape(2, 3, 4, 5).to(memory_format=tw.channels_last)
    y = x + 0
    assert (y.reshape(-1) == tw.arange(120)).all() and (y.flatten(2) == x.flatten(2)).all()
    with pytest.raises(RuntimeError, match="view"):
        y.view(-1)


@pytest.mark.parametrize("name", ["SGD", "AdamW", "Adagrad", "RMSprop", "Lion"])
def test_optimizers_step_over_any_order(name):
    def run(last):
        tw.manual_seed(0)
        p = tw.randn(4, 3, 5, 2)
        p = (p.to(memory_format=tw.channels_last) if last else p).requires_grad_()
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(tw.optim, name)([p], lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            (p**2).sum().backward()
            optimizer.step()
        return p.detach()

    a, b = run(True), run(False)
    assert a.stride() == channels_last(a.shape) and tw.allclose(a, b, rtol=1e-6, atol=1e-7)
