"""Compiled functions on global tensors do what they do in eager mode, and their results lie as was said."""

import gc

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
LINE = tw.placement("cpu", [0, 1, 2, 3])
PAIR = tw.placement("cpu", [0, 1])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])
ONE = tw.placement("cpu", [[0]])
LAYOUTS = [(ONE, [S(0), B]), (PAIR, S(0)), (PAIR, B), (LINE, S(1)), (MESH, [S(0), S(1)]), (MESH, [B, S(0)])]


def values(shape, seed=0):
    return tw.tensor(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))


def same(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("where, how", LAYOUTS)
def test_results_are_global_tensors(where, how):
    def f(x, w):
        return (x @ w).relu(), x.sum()

    x, w = values((6, 5)), values((5, 7), 1)
    compiled = tw.jit(f)
    for _ in range(2):
        for found, expected in zip(compiled(x.to_global(where, how), w.to_global(where, how)), f(x, w), strict=True):
            assert found.placement == where
            same(found, expected)
    assert compiled.trace_count == 1


def test_tensors_without_elements():
    f = tw.jit(lambda x, y: (x + y).cumsum(0))
    x, y = values((0, 3)), values((3,))
    for how in (S(0), S(1), B):
        same(f(x.to_global(PAIR, how), y.to_global(PAIR, B)), f(x, y))


def test_another_layout_is_another_program():
    double = tw.jit(lambda x: x + x)
    x = values((4, 4))
    for how in (S(0), S(1), B, S(0)):
        same(double(x.to_global(PAIR, how)), x + x)
    same(double(x), x + x)
    assert double.trace_count == 4
    assert "layout of tensor 0 was cpu[0, 1] S(0), and is cpu[0, 1] S(1)" in tw.jit.explain(double)


def test_other_devices_are_another_world():
    double = tw.jit(lambda x: x + x)
    x = values((4, 4))
    double(x.to_global(PAIR, S(0)))
    tw.env.init(devices_per_process=3)
    same(double(x.to_global(PAIR, S(0))), x + x)
    assert double.trace_count == 2


def test_to_global_decides():
    @tw.jit
    def f(x):
        y = (x * 2).to_global(sbp=B)
        z = y.exp().to_global(sbp=S(1))
        return y, z, z.to_global(placement=LINE, sbp=S(0))

    x = values((6, 4))
    y, z, moved = f(x.to_global(PAIR, S(0)))
    assert (y.sbp, z.sbp, moved.sbp, moved.placement) == ((B,), (S(1),), (S(0),), LINE)
    same(y, x * 2)
    same(moved, (x * 2).exp())


def test_stages_on_two_placements():
    first, second = tw.placement("cpu", [0]), tw.placement("cpu", [1, 2])
    weights = [nn.Parameter(values((4, 4), 1).to_global(where, B)) for where in (first, second)]

    def f(x):
        for w in weights:
            w.grad = None
        h = ((x @ weights[0]) * 2 + 1).to_global(second, S(0))
        ((h @ weights[1]) * 2 + 1).square().mean().backward()

    x = values((6, 4)).to_global(first, B)
    f(x)
    expected = [w.grad for w in weights]
    tw.jit(f)(x)
    for w, grad in zip(weights, expected, strict=True):
        same(w.grad, grad)


def test_gradients_go_where_they_are_said_to():
    def f(x):
        x.grad = None
        y = x.to_global(sbp=B, grad_sbp=S(1))
        (y * y).sum().backward()

    x = values((4, 6)).to_global(PAIR, S(0)).requires_grad_()
    f(x)
    expected = x.grad
    x.grad = None
    tw.jit(f)(x)
    assert x.grad.sbp == (S(0),)
    same(x.grad, expected)


def test_steps_of_optimizers_and_their_state():
    def run(compile, where=None, how=None, data=None):
        tw.manual_seed(1)
        model = nn.Sequential(
            nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.Tanh(), nn.Dropout(0.3), nn.Linear(7, 3)
        )
        x, y = values((12, 5)), values((12, 3), 1)
        if where is not None:
            model.to_global(where, lambda name, t: how if t.ndim else [B] * where.ndim)
            x, y = x.to_global(where, data), y.to_global(where, data)
        optimizer = tw.optim.AdamW(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss.detach()

        step = tw.jit(step) if compile else step
        losses = [step(x, y).item() for _ in range(5)]
        if where is not None:
            for param, state in optimizer.state.items():
                assert param.grad.sbp == param.sbp
                assert all(value.sbp == param.sbp for value in state.values() if isinstance(value, tw.Tensor))
        return losses, [t.detach().numpy() for t in (*model.parameters(), *model.buffers())]

    wanted_losses, wanted = run(False)
    for arguments in ((PAIR, B, S(0)), (LINE, S(0), S(0)), (MESH, [S(0), B], [B, S(0)])):
        losses, tensors = run(True, *arguments)
        np.testing.assert_allclose(losses, wanted_losses, rtol=1e-5)
        for found, expected in zip(tensors, wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_a_step_of_an_optimizer_is_one_launch_on_each_device():
    params = [nn.Parameter(tw.ones(4, n, placement=PAIR, sbp=how)) for n in (2, 3) for how in (S(0), B)]
    optimizer = tw.optim.Adam(params)

    @tw.jit
    def step():
        optimizer.zero_grad()
        sum((p * p).sum() for p in params).backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()

    for _ in range(3):
        step()
    launches = [launch.op for launch in step.plan().launches]
    assert launches.count("adam_step") == launches.count("multi_tensor_clip") == 2


@pytest.mark.parametrize("where, how", LAYOUTS)
def test_random_numbers_are_those_of_one_device(where, how):
    def f(x):
        return F.dropout(x, 0.4), tw.rand_like(x), tw.rand(4, 6)

    x = tw.ones(8, 12)
    tw.manual_seed(3)
    expected = [*f(x), tw.rand(1)]
    compiled = tw.jit(f)
    compiled(x.to_global(where, how))  # traces
    tw.manual_seed(3)
    for found, wanted in zip([*compiled(x.to_global(where, how)), tw.rand(1)], expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_what_is_made_inside_lies_as_said():
    @tw.jit
    def f(x):
        made = tw.ones(4, 3, placement=PAIR, sbp=S(0))
        data = tw.tensor([[1.0, 2.0, 3.0]], placement=PAIR, sbp=B)
        return made, tw.zeros_like(x), data + x, tw.full((2,), 5.0, placement=PAIR, sbp=B), x.new_ones(3)

    x = values((4, 3))
    made, zeros, total, full, ones = f(x.to_global(PAIR, S(1)))
    assert (made.sbp, zeros.sbp, full.sbp) == ((S(0),), (S(1),), (B,))
    same(total, x + tw.tensor([1.0, 2.0, 3.0]))
    same(made, tw.ones(4, 3))
    same(zeros, tw.zeros(4, 3))
    same(full, tw.full((2,), 5.0))
    same(ones, tw.ones(3))


def test_a_local_whole_becomes_global_inside():
    """As where every process has the whole text and each device takes a part of the batch."""
    text = tw.arange(40)

    def batch():
        starts = tw.randint(30, (6,))
        return text[starts[:, None] + tw.arange(5)], starts

    @tw.jit
    def f():
        rows, starts = batch()
        return (rows.to_global(PAIR, S(0)) * 2, starts)

    f()
    tw.manual_seed(5)
    rows, starts = f()
    tw.manual_seed(5)
    wanted, wanted_starts = batch()
    assert rows.is_global and starts.is_local
    np.testing.assert_array_equal(rows.numpy(), wanted.numpy() * 2)
    np.testing.assert_array_equal(starts.numpy(), wanted_starts.numpy())


def test_local_state_beside_global_values_is_written_once():
    count = tw.zeros(())

    @tw.jit
    def f(x):
        count.add_(1)
        return x * count.to_global(LINE, B)

    x = tw.ones(4, placement=LINE, sbp=S(0))
    assert [f(x).sum().item() for _ in range(3)] == [4, 8, 12]
    assert count.item() == 3


@pytest.mark.parametrize("where, how", LAYOUTS)
def test_arguments_and_views_are_written_in_place(where, how):
    def f(x, y):
        x.mul_(2)
        x[1:3].add_(y[1:3])
        y.t()[0] = 7

    x, y = values((6, 4)), values((6, 4), 1)
    gx, gy = x.to_global(where, how), y.to_global(where, how)
    compiled = tw.jit(f)
    for _ in range(2):
        f(x, y)
        version = gx._version
        compiled(gx, gy)
        assert gx._version > version
        same(gx, x)
        same(gy, y)
    other = values((6, 4), 2)
    spread = other.to_global(where, how)
    compiled(spread, gy)
    f(other, y)
    same(spread, other)
    assert compiled.trace_count == 1


def test_results_are_differentiated_outside():
    w = nn.Parameter(values((5, 3), 1).to_global(PAIR, S(1)))

    def f(x):
        return (x @ w).tanh(), (x * x).sum()

    grads = []
    for function in (f, tw.jit(f)):
        x = values((4, 5)).to_global(PAIR, S(0)).requires_grad_()
        w.grad = None
        y, total = function(x)
        ((y * y).sum() + total).backward()
        assert (w.grad.sbp, x.grad.sbp) == ((S(1),), (S(0),))
        grads.append((w.grad, x.grad))
    for expected, found in zip(*grads, strict=True):
        same(found, expected)


def test_steps_in_flight():
    total = tw.zeros(8, placement=LINE, sbp=S(0))

    @tw.no_grad()
    def f(x):
        total.add_(x)
        return total * 2

    step = tw.jit(f, asynchronous=True)
    x = tw.ones(8, placement=LINE, sbp=S(0))
    results = [step(x) for _ in range(5)]
    assert [result.sum().item() for result in results] == [16, 32, 48, 64, 80]
    assert total.to_local()[3].tolist() == [5, 5]


def test_accumulated_gradients():
    w = nn.Parameter(values((3, 4)).to_global(PAIR, S(0)))

    @tw.jit
    def f(x):
        (w * x).sum().backward()

    x = values((3, 4), 1)
    for count in (1, 2, 3):
        f(x.to_global(PAIR, B))
        assert w.grad.sbp == (S(0),)
        same(w.grad, x * count)


def test_checkpoints_compute_again():
    w = nn.Parameter(values((4, 4)).to_global(PAIR, S(0)))

    def f(x):
        w.grad = None
        tw.checkpoint(lambda x: F.dropout(F.gelu(x @ w), 0.5), x).sum().backward()

    x = values((6, 4), 1).to_global(PAIR, B)
    compiled = tw.jit(f)
    compiled(x)
    grads = []
    for function in (f, compiled):
        tw.manual_seed(2)
        function(x)
        grads.append(w.grad)
    same(grads[1], grads[0])


def test_each_device_holds_its_parts_alone():
    """A quarter of split weights and their moments, in memory of its own."""
    rows = {"0.weight": S(0), "2.weight": S(1)}
    gc.collect()  # what lies in cycles, here and below, counts no longer
    tw.cpu.empty_cache()  # free blocks that are larger than what asks for them would count whole
    before = [tw.cpu.memory_allocated(i) for i in range(4)]
    model = nn.Sequential(nn.Linear(256, 1024, bias=False), nn.ReLU(), nn.Linear(1024, 256, bias=False))
    model.to_global(LINE, lambda name, t: rows[name])
    optimizer = tw.optim.AdamW(model.parameters())

    @tw.jit
    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    x = values((2, 256)).to_global(LINE, B)
    for _ in range(3):
        step(x)
    step._keep([])  # the programs, with their arenas
    gc.collect()
    whole = 4 * sum(p.numel() for p in model.parameters())  # bytes
    for i in range(4):
        held = tw.cpu.memory_allocated(i) - before[i]
        assert held == pytest.approx(4 * whole / 4, rel=0.1)  # weights, gradients, two moments


def test_what_is_decided_later_is_not_known():
    @tw.jit
    def f(x):
        return (x + 1).sbp

    with pytest.raises(RuntimeError, match=r"sbp: in a traced function the sbp of a computed tensor is chosen when"):
        f(tw.ones(4, placement=PAIR, sbp=S(0)))


@pytest.mark.parametrize(
    "use, error, words",
    [
        (lambda x: x + tw.ones(4), tw.PlacementError, "add: tensors on one placement are wanted"),
        (lambda x: x + tw.ones(4, placement=LINE, sbp=B), tw.PlacementError, "add: tensors on one placement"),
        (lambda x: x.sum().item(), RuntimeError, "cannot read the value"),
        (lambda x: x.nonzero(), RuntimeError, "depends on data"),
    ],
)
def test_errors_name_the_way_out(use, error, words):
    with pytest.raises(error, match=words):
        tw.jit(use)(tw.ones(4, placement=PAIR, sbp=S(0)))


def test_parts_of_a_batch_draw_the_numbers_of_the_whole():
    def f(x, w):
        return tw.micro_batches(lambda x: F.dropout(x @ w, 0.5), 2)(x)

    x, w = values((8, 5)), values((5, 6), 1)
    tw.manual_seed(3)
    expected = F.dropout(x @ w, 0.5)
    for run in (f, tw.jit(f)):
        for how in ([S(0), S(1)], [B, S(0)]):
            tw.manual_seed(3)
            same(run(x.to_global(MESH, how), w.to_global(MESH, [B, B])), expected)
