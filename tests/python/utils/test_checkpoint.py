"""Checkpoints give what the plain call gives, bit for bit, and keep nothing in between."""

import gc

import numpy as np
import pytest
import thalweg as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from thalweg import nn
from thalweg.nn import functional as F
from thalweg.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + F.dropout(self.down(F.gelu(self.up(self.norm(x)))), 0.3)


def plain(function, *args, **options):
    return function(*args)


def gradients(model, x, call):
    """Result and all gradients of a pass; the same seed each time."""
    tw.manual_seed(5)
    x = x.detach().requires_grad_()
    out = x
    for block in model:
        out = call(block, out)
    loss = (out * out).mean()
    params = list(model.parameters())
    return [tensor.numpy(force=True) for tensor in (loss, *tw.autograd.grad(loss, [x, *params]))]


def assert_equal(results, expected):
    assert len(results) == len(expected)
    for a, b in zip(results, expected):
        np.testing.assert_array_equal(a, b)


@pytest.fixture
def blocks():
    tw.manual_seed(1)
    return nn.ModuleList([Block(8) for _ in range(3)])


@pytest.mark.parametrize("options", [{}, {"use_reentrant": True}, {"early_stop": False}])
def test_the_same_numbers_in_eager_mode(blocks, options):
    x = tw.randn(4, 8)
    expected = gradients(blocks, x, plain)
    assert_equal(gradients(blocks, x, lambda f, x: checkpoint(f, x, **options)), expected)
    after = tw.rand(1).item()
    gradients(blocks, x, plain)
    assert tw.rand(1).item() == after  # the repetition leaves the generator where it was


@pytest.mark.parametrize("inner", [False, True])
def test_the_same_numbers_in_a_trace(blocks, inner):
    x = tw.randn(4, 8)
    expected = gradients(blocks, x, plain)

    def run(x):
        x = x.detach().requires_grad_()
        out = x
        for block in blocks:
            out = checkpoint(lambda y, block=block: checkpoint(block, y) if inner else block(y), out)
        loss = (out * out).mean()
        return [loss, *tw.autograd.grad(loss, [x, *blocks.parameters()])]

    static = tw.jit(run)
    for _ in range(2):
        tw.manual_seed(5)
        assert_equal([tensor.numpy(force=True) for tensor in static(x)], expected)
    gelus = [launch.op for launch in static.plan().launches].count("gelu")
    assert gelus == 6  # each is there a second time
    draws = [launch.op for launch in static.plan().launches].count("dropout_of")
    assert draws >= 3


def test_gradients_outside_of_a_traced_function(blocks):
    x = tw.randn(4, 8)
    tw.manual_seed(5)
    reference = x.clone().requires_grad_()
    blocks[0](reference).sum().backward()
    static = tw.jit(lambda x: checkpoint(blocks[0], x))
    tw.manual_seed(5)
    y = x.clone().requires_grad_()
    static(y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), reference.grad.numpy())


def live_peak(f, *args):
    static = tw.jit(f)
    static(*args)
    return static.plan().lower_bound_bytes


def test_less_is_live_in_a_trace():
    tw.manual_seed(0)
    model = nn.ModuleList([Block(32) for _ in range(8)])
    x = tw.randn(64, 32)

    def step(call):
        def run(x):
            out = x
            for block in model:
                out = call(block, out)
            return tw.autograd.grad((out * out).mean(), list(model.parameters()))

        return run

    without, with_it = live_peak(step(plain), x), live_peak(step(checkpoint), x)
    assert with_it < 0.4 * without


def test_less_is_held_in_eager_mode():
    tw.manual_seed(0)
    model = nn.ModuleList([Block(32) for _ in range(8)])

    def held(call):
        x = tw.randn(64, 32)
        gc.collect()
        tw.cpu.empty_cache()
        before = tw.cpu.memory_allocated()
        for block in model:
            x = call(block, x)
        return tw.cpu.memory_allocated() - before

    assert held(checkpoint) < 0.2 * held(plain)


def test_what_is_computed_again_goes_when_backward_has_used_it():
    x = tw.randn(256, 256, requires_grad=True)
    y = checkpoint(lambda x: x.sin().exp().tanh(), x).sum()
    gc.collect()
    tw.cpu.empty_cache()  # a larger block that is kept for reuse would count as a whole
    before = tw.cpu.memory_allocated()
    y.backward()
    gc.collect()
    assert tw.cpu.memory_allocated() - before <= 256 * 256 * 4  # the gradient


def test_nested_checkpoints_release_the_inner_arguments():
    calls = []

    def inner(x):
        calls.append("inner")
        return x.sin().exp()

    def outer(x):
        calls.append("outer")
        return checkpoint(inner, x.cos()).tanh()

    x = tw.randn(3, 3, requires_grad=True)
    checkpoint(outer, x).sum().backward()
    expected = x.detach().requires_grad_()
    expected.cos().sin().exp().tanh().sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected.grad.numpy())
    assert calls[:2] == ["outer", "inner"] and calls.count("outer") == 2


def test_autocast_is_the_same_again():
    layer, x = nn.Linear(8, 8), tw.randn(4, 8, requires_grad=True)
    dtypes = []

    def f(x):
        y = layer(x)
        dtypes.append(y.dtype)
        return y.float().tanh()

    with tw.autocast("cpu"):
        y = checkpoint(f, x, early_stop=False)
    y.sum().backward()
    assert dtypes == [tw.bfloat16, tw.bfloat16]


def test_keyword_arguments_several_results_and_second_derivatives():
    def f(x, scale=None, flip=False):
        return (x * scale).sin(), x.exp() if flip else x

    def second(call):
        x, scale = tw.tensor([0.3, 0.7], requires_grad=True), tw.tensor([2.0, 3.0], requires_grad=True)
        a, b = call(f, x, scale=scale, flip=True)
        (slope,) = tw.autograd.grad((a * b).sum(), x, create_graph=True)
        return [g.numpy() for g in tw.autograd.grad(slope.sum(), [x, scale])]

    assert_equal(second(checkpoint), second(lambda f, *args, **kwargs: f(*args, **kwargs)))


def test_backward_twice():
    x = tw.randn(5, requires_grad=True)
    y = checkpoint(lambda x: x.sin().exp(), x).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * first)


def test_what_differs_the_second_time_is_an_error():
    calls = []

    def grows(x):
        calls.append(1)
        return (x.exp() if len(calls) == 1 else x.repeat(2).exp()).sum()

    y = checkpoint(grows, tw.ones(3, requires_grad=True))
    with pytest.raises(CheckpointError, match=r"of shape \(3,\), and thalweg.float32 of shape \(6,\)"):
        y.backward()
    calls.clear()

    def shrinks(x):
        calls.append(1)
        return x.exp().sin() if len(calls) == 1 else x.exp()

    y = checkpoint(shrinks, tw.ones(3, requires_grad=True)).sum()
    with pytest.raises(CheckpointError, match="fewer tensors"):
        y.backward()


def test_an_argument_changed_in_place_is_an_error():
    x = tw.ones(3)
    weight = tw.ones(3, requires_grad=True)
    y = checkpoint(lambda x: (x * weight).exp(), x).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match="changed by an in-place operation"):
        y.backward()


def test_errors_of_the_function_are_its_own():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        checkpoint(f, tw.ones(1, requires_grad=True))
    with pytest.raises(ValueError, match="unexpected keyword arguments: scale"):
        checkpoint(f, tw.ones(1), use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(f, tw.ones(1), determinism_check="all")


def test_forward_outside_and_backward_inside_a_trace_is_refused():
    x = tw.ones(3, requires_grad=True)
    y = checkpoint(lambda x: x.exp().sin(), x).sum()
    with pytest.raises(RuntimeError, match="the same traced function"):
        tw.jit(lambda: tw.autograd.grad(y, x)[0])()


def test_sequential():
    tw.manual_seed(0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(5)))
    x = tw.randn(3, 6)
    for segments in (1, 2, 5):
        model.zero_grad()
        model(x).sum().backward()
        expected = [p.grad.numpy().copy() for p in model.parameters()]
        model.zero_grad()
        checkpoint_sequential(model, segments, x).sum().backward()
        assert_equal([p.grad.numpy() for p in model.parameters()], expected)
    with pytest.raises(ValueError, match="1 to 5 segments are wanted, got 6"):
        checkpoint_sequential(model, 6, x)
    assert tw.checkpoint is tw.utils.checkpoint.checkpoint


OPS = {
    "sin": lambda x, w: x.sin(),
    "mul": lambda x, w: x * w,
    "gelu": lambda x, w: F.gelu(x),
    "mm": lambda x, w: x @ w,
    "dropout": lambda x, w: F.dropout(x, 0.5),
    "view": lambda x, w: x.transpose(0, 1),
    "inplace": lambda x, w: (x * 1.0).add_(w),
    "norm": lambda x, w: F.layer_norm(x, (4,)),
}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(OPS)), st.booleans()), min_size=1, max_size=10), st.booleans())
def test_random_programs(steps, static):
    weight = tw.linspace(-1, 1, 16).reshape(4, 4)

    def run(call, x, w):
        i = 0
        while i < len(steps):  # runs of ops with the same mark are one part
            end = i
            while end < len(steps) and steps[end][1] == steps[i][1]:
                end += 1

            def part(x, w, names=tuple(name for name, _ in steps[i:end])):
                for name in names:
                    x = OPS[name](x, w)
                return x

            x = call(part, x, w) if steps[i][1] else part(x, w)
            i = end
        total = (x * x).sum() + w.sum()
        return [total.detach(), *tw.autograd.grad(total, [w], allow_unused=True)]

    def outcome(call):
        def f(x):
            return run(call, x, weight.detach().requires_grad_())

        tw.manual_seed(2)
        results = (tw.jit(f) if static else f)(tw.linspace(0, 1, 16).reshape(4, 4))
        return [None if r is None else r.numpy() for r in results]

    for a, b in zip(outcome(checkpoint), outcome(plain)):
        assert (a is None) == (b is None)
        np.testing.assert_array_equal(a, b)
