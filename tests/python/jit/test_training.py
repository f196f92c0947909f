"""Whole training steps: every optimizer, schedules, clipping, loss curves equal to eager mode's bit for bit."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.nn import functional as F

OPTIMIZERS = {
    "SGD": {"lr": 0.1}, "SGD momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.01}, "AdamW": {"lr": 0.01, "amsgrad": True}, "RMSprop": {"lr": 0.01, "momentum": 0.5},
    "Adagrad": {"lr": 0.1}, "Adadelta": {}, "Adamax": {}, "ASGD": {"lr": 0.1}, "NAdam": {}, "RAdam": {"lr": 0.01},
    "Rprop": {}, "Lion": {"lr": 0.001}, "LAMB": {"lr": 0.01},
}  # fmt: skip


def train(name, options, compiled, steps=8):
    """The losses of a small network, with the learning rate and the batch changing from step to step."""
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(16), nn.Linear(16, 4))
    optimizer = getattr(optim, name.split()[0])(model.parameters(), **options)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    run = tw.jit(step) if compiled else step
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(steps):
        optimizer.param_groups[0]["lr"] *= 0.9
        x = tw.from_numpy(rng.standard_normal((8, 6), dtype=np.float32))
        losses.append(run(x, tw.from_numpy(rng.integers(0, 4, 8))).item())
    state = {k: v.tolist() if isinstance(v, tw.Tensor) else v for k, v in optimizer.state[model[0].weight].items()}
    return losses, state, run


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_and_state_are_those_of_eager_mode(name):
    losses, state, _ = train(name, OPTIMIZERS[name], compiled=False)
    static_losses, static_state, run = train(name, OPTIMIZERS[name], compiled=True)
    assert static_losses == losses and static_state == state
    assert run.trace_count <= 3  # the state is made in the first step; the rate and the count change in each


def test_an_optimizer_of_ones_own():
    class SignDescent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @tw.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["count"] = state.get("count", 0) + 1
                    p -= group["lr"] / state["count"] ** 0.5 * p.grad.sign()

    def run(compiled):
        w = nn.Parameter(tw.linspace(-1, 1, 5))
        optimizer = SignDescent([w], 0.25)

        def step(x):
            optimizer.zero_grad()
            ((w - x) ** 2).sum().backward()
            optimizer.step()

        step = tw.jit(step) if compiled else step
        for i in range(6):
            optimizer.param_groups[0]["lr"] = 0.25 / (i + 1)
            step(tw.full((5,), 0.3))
        return w.tolist(), optimizer.state[w]["count"], step

    expected, count, _ = run(False)
    result, static_count, step = run(True)
    assert result == expected and static_count == count == 6
    assert step.trace_count <= 2


def test_a_loop_that_goes_on_in_eager_mode():
    """State is where the optimizer keeps it: either mode may take over from the other."""
    w = {True: nn.Parameter(tw.ones(3)), False: nn.Parameter(tw.ones(3))}
    results = []
    for mixed in (True, False):
        optimizer = optim.AdamW([w[mixed]], lr=0.1)

        def step(x):
            optimizer.zero_grad()  # noqa: B023
            (w[mixed] * x).sum().backward()  # noqa: B023
            optimizer.step()  # noqa: B023

        static = tw.jit(step)
        for i in range(9):
            (static if mixed and i % 3 else step)(tw.full((3,), float(i % 4) - 1))
        results.append(w[mixed].tolist())
    assert results[0] == results[1]
