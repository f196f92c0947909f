"""What a static program takes in memory: what its plan predicts, and as little as its order of nodes allows."""

import gc
import time

import numpy as np
import pytest
import thalweg as tw
from hypothesis import given, settings
from hypothesis import strategies as st
from thalweg import nn, optim
from thalweg._core import _native
from thalweg.jit.plan import Plan
from thalweg.nn import functional as F

SQUARE = 64 * 64 * 4


def training_step(model, optimizer, loss=F.cross_entropy):
    @tw.jit
    def step(x, y):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def test_the_predicted_peak_is_what_is_allocated():
    x = tw.randn(64, 64)
    tw.cpu.empty_cache()  # a larger block that is kept for reuse would count as a whole

    @tw.jit
    def f(x):
        return ((x @ x).exp() @ (x + 1).tanh()).sum()

    f(x)
    plan = f.plan()
    assert plan.arena_bytes == plan.lower_bound_bytes > 2 * SQUARE
    gc.collect()
    with_program = tw.cpu.memory_allocated()
    predicted = plan.arena_bytes + 64 * plan.segment_count("constant")  # the number 1: a block of its own
    del f, plan
    gc.collect()
    assert with_program - tw.cpu.memory_allocated() == predicted


def test_an_arena_takes_no_larger_block_that_was_kept_for_reuse():
    x = tw.randn(256, 256)
    tw.cpu.empty_cache()
    larger = [tw.empty(kib, 256) for kib in (1024, 1152, 1280)]
    del larger

    @tw.jit
    def f(x):
        return ((x @ x).exp() @ (x + 1).tanh()).sum()

    f(x)
    arena_bytes = f.plan().arena_bytes
    assert arena_bytes == 3 * 256 * 256 * 4  # a block of this size there is
    gc.collect()
    with_program = tw.cpu.memory_allocated()
    del f
    gc.collect()
    assert arena_bytes <= with_program - tw.cpu.memory_allocated() <= arena_bytes + 1024


def test_a_run_allocates_its_results_only():
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    step = training_step(model, optim.AdamW(model.parameters(), lr=0.01))
    x, y = tw.randn(32, 64), tw.randint(0, 64, (32,))
    for _ in range(3):
        step(x, y)
    results = step.plan().segment_bytes("output")
    gc.collect()
    tw.cpu.empty_cache()
    before = tw.cpu.memory_allocated()
    tw.cpu.reset_peak_memory_stats()
    step(x, y)
    assert tw.cpu.max_memory_allocated() - before <= results + 64 * step.plan().segment_count("output")


def test_the_arenas_of_training_steps_are_close_to_the_bound():
    tw.manual_seed(0)
    conv = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(1152, 5)
    )
    mlp = nn.Sequential(*(nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.LayerNorm(32)) for _ in range(8)))
    for model, shape in ((conv, (4, 3, 16, 16)), (mlp, (16, 32))):
        step = training_step(model, optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
        for _ in range(2):
            step(tw.randn(*shape), tw.randint(0, 5, (shape[0],)))
        plan = step.plan()
        assert plan.lower_bound_bytes <= plan.arena_bytes <= 1.02 * plan.lower_bound_bytes


def test_branches_recorded_side_by_side_run_one_after_the_other():
    def f(x):
        parts = [(x * i).sin() for i in range(1, 21)]
        return sum(part.sum() for part in parts)

    x = tw.randn(64, 64)
    static = tw.jit(f)
    assert static(x).numpy() == f(x).numpy()
    assert static.plan().lower_bound_bytes < 3 * SQUARE  # recorded, all twenty are there at once


def test_moved_nodes_keep_their_random_numbers():
    def f(x):
        parts = [F.dropout(x * i, 0.5) for i in range(1, 6)]
        return tw.stack([part.sum() for part in parts])

    x = tw.ones(64, 64)
    tw.manual_seed(3)
    expected = f(x), f(x)
    static = tw.jit(f)
    tw.manual_seed(3)
    for result in expected:
        np.testing.assert_array_equal(static(x).numpy(), result.numpy())
    assert static.plan().lower_bound_bytes < 4 * SQUARE


@pytest.mark.parametrize("kind", ["deep", "wide"])
def test_planning_takes_time_in_proportion_to_the_nodes(kind):
    def text(count):
        lines = ['graph "g" {\n  input %0 "x" : float32[64]']
        if kind == "deep":
            lines += [f"  %{i} = exp(%{i - 1}) : float32[64]" for i in range(1, count + 1)]
            last = count
        else:
            lines += [f"  %{i} = exp(%0) : float32[64]" for i in range(1, count + 1)]
            names = ", ".join(f"%{i}" for i in range(1, count + 1))
            lines.append(f"  %{count + 1} = cat([{names}]) : float32[{64 * count}]")
            last = count + 1
        return "\n".join([*lines, f"  return %{last}\n}}\n"])

    def seconds(count):
        graph = _native.Graph.parse(text(count))
        begin = time.process_time()
        graph.plan()
        return time.process_time() - begin

    seconds(500)
    small, large = min(seconds(2000) for _ in range(3)), seconds(20_000)
    assert large < 30 * small + 0.2  # linear would be 10
    assert Plan.of_graph(_native.Graph.parse(text(300))).lower_bound_bytes > 0


def test_tracing_and_compiling_take_time_in_proportion_to_the_nodes():
    def seconds(layers):
        weights = [tw.full((8, 8), 0.1, requires_grad=True) for _ in range(layers)]

        @tw.jit
        def step(x):
            for weight in weights:
                x = F.gelu(x @ weight) + x
            loss = x.mean()
            loss.backward()
            with tw.no_grad():
                for weight in weights:
                    weight -= 0.1 * weight.grad
                    weight.grad = None
            return loss.detach()

        begin = time.process_time()
        step(tw.ones(8, 8))
        return time.process_time() - begin

    seconds(10)
    small, large = min(seconds(50) for _ in range(3)), seconds(500)
    assert large < 30 * small + 0.2  # linear would be 10


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + F.dropout(self.down(F.gelu(self.up(self.norm(x)))), 0.1)


def losses(budget, steps=4):
    """The losses of a training run, and the arena of its program."""
    tw.manual_seed(0)
    model = nn.Sequential(*(Block(32) for _ in range(4)), nn.Linear(32, 10))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    @tw.jit(memory_budget=budget)
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    x, y = tw.randn(256, 32), tw.randint(0, 10, (256,))
    return [step(x, y).item() for _ in range(steps)], step.plan()


def test_a_budget_is_met_with_the_same_results():
    expected, plan = losses(None)
    before = len(plan.launches)
    for share in (0.8, 0.6, 0.5):
        budget = int(share * plan.arena_bytes)
        result, lean = losses(budget)
        assert result == expected
        assert lean.arena_bytes <= budget and len(lean.launches) > before
    ops = [launch.op for launch in lean.launches]
    assert ops.count("gelu") > 4 and ops.count("dropout_of") >= 4


def test_what_is_repeated_first_costs_little():
    _, plan = losses(None)
    _, lean = losses(int(0.85 * plan.arena_bytes))

    def products(plan):
        return sum(launch.op in ("mm", "linear", "addmm") for launch in plan.launches)

    assert products(lean) == products(plan)


def test_a_budget_that_cannot_be_met_says_how_close_it_came():
    with pytest.raises(ValueError, match=r"step: a memory budget of 1000 bytes cannot be met: .* leaves \d+ bytes"):
        losses(1000)
    with pytest.raises(ValueError, match="memory_budget must be a number of bytes, got -1"):
        tw.jit(lambda x: x, memory_budget=-1)


PARTS = {
    "gelu": lambda x, w: F.gelu(x),
    "mm": lambda x, w: x @ w,
    "norm": lambda x, w: F.layer_norm(x, (16,)),
    "dropout": lambda x, w: F.dropout(x, 0.5),
    "residual": lambda x, w: x + F.gelu(x @ w),
    "transpose": lambda x, w: x.transpose(0, 1),
    "inplace": lambda x, w: (x * 2).add_(w),
    "cat": lambda x, w: tw.cat([x, x.sin()])[8:24],
}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(PARTS)), min_size=2, max_size=14), st.floats(0.3, 1.0))
def test_random_programs_under_a_budget(names, share):
    weight, start = tw.linspace(-1, 1, 256).reshape(16, 16), tw.linspace(0, 1, 256).reshape(16, 16)

    def f(x):
        w = weight.detach().requires_grad_()
        for name in names:
            x = PARTS[name](x, w)
        total = (x * x).sum() + w.sum()
        return total.detach(), tw.autograd.grad(total, w)[0]

    def run(budget):
        static = tw.jit(f, memory_budget=budget)
        tw.manual_seed(1)
        return [t.numpy() for t in static(start)], static.plan().arena_bytes

    expected, arena = run(None)
    try:
        results, lean = run(int(share * arena))
    except ValueError as error:
        assert "cannot be met" in str(error)
        return
    assert lean <= share * arena
    for a, b in zip(results, expected):
        np.testing.assert_array_equal(a, b)
