"""Schedules that step inside a compiled function: the rates and losses of eager mode, without a trace for each."""

import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.optim import lr_scheduler as lrs

SCHEDULES = {
    "StepLR": lambda o: lrs.StepLR(o, 2, 0.5),
    "MultiStepLR": lambda o: lrs.MultiStepLR(o, [2, 5], 0.1),
    "ExponentialLR": lambda o: lrs.ExponentialLR(o, 0.9),
    "LinearLR": lambda o: lrs.LinearLR(o, 0.25, total_iters=4),
    "PolynomialLR": lambda o: lrs.PolynomialLR(o, 6, 2.0),
    "CosineAnnealingLR": lambda o: lrs.CosineAnnealingLR(o, 5),
    "CosineAnnealingWarmRestarts": lambda o: lrs.CosineAnnealingWarmRestarts(o, 3, 2),
    "OneCycleLR": lambda o: lrs.OneCycleLR(o, 0.3, total_steps=20),
    "CyclicLR": lambda o: lrs.CyclicLR(o, 0.01, 0.3, 3, cycle_momentum=True),
    "LambdaLR": lambda o: lrs.LambdaLR(o, lambda epoch: 1.0 if epoch % 3 else 0.1 * epoch + 0.5),
    "SequentialLR": lambda o: lrs.SequentialLR(o, [lrs.ConstantLR(o, 0.5, 9), lrs.ExponentialLR(o, 0.9)], [3]),
    "ChainedScheduler": lambda o: lrs.ChainedScheduler([lrs.ConstantLR(o, 0.5, 3), lrs.ExponentialLR(o, 0.9)]),
}


def train(make, compiled, optimizer_type=optim.AdamW, steps=9):
    weight = nn.Parameter(tw.linspace(-1, 1, 5))
    optimizer = optimizer_type([weight], lr=0.1)
    schedule = make(optimizer)

    def step(x):
        optimizer.zero_grad()
        before = schedule.get_last_lr()[0]
        ((weight - x) ** 2).sum().backward()
        optimizer.step()
        schedule.step()
        return before, schedule.get_last_lr()[0], optimizer.param_groups[0]["lr"] * 2

    run = tw.jit(step) if compiled else step
    rates = [run(tw.full((5,), 0.3)) for _ in range(steps)]
    return rates, weight.tolist(), schedule.state_dict(), optimizer.param_groups[0]["lr"], run


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_and_weights_are_those_of_eager_mode(name):
    *expected, _ = train(SCHEDULES[name], False)
    *result, step = train(SCHEDULES[name], True)
    expected[2].pop("lr_lambdas", 0), result[2].pop("lr_lambdas", 0)
    assert result == expected
    assert step.trace_count <= 2, step.explain()


def test_momentum_that_moves():
    def make(optimizer):
        return lrs.OneCycleLR(optimizer, 0.3, total_steps=20)

    *expected, _ = train(make, False, lambda params, lr: optim.SGD(params, lr, momentum=0.9))
    *result, step = train(make, True, lambda params, lr: optim.SGD(params, lr, momentum=0.9))
    assert result == expected and step.trace_count <= 2


def test_two_steps_in_one_call():
    weight = nn.Parameter(tw.ones(1))
    optimizer = optim.SGD([weight], lr=1.0)
    schedule = lrs.ExponentialLR(optimizer, 0.5)

    @tw.jit
    def step():
        for _ in range(2):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
            schedule.step()

    step()
    assert weight.item() == 1 - 1 - 0.5 and schedule.get_last_lr() == [0.25]
    step()
    assert weight.item() == -0.5 - 0.25 - 0.125 and schedule.last_epoch == 4
    assert step.trace_count <= 2  # there was no gradient at first


def test_a_failing_call_takes_the_schedule_back():
    weight = nn.Parameter(tw.ones(3))
    optimizer = optim.SGD([weight], lr=1.0)
    schedule = lrs.ExponentialLR(optimizer, 0.5)

    @tw.jit
    def step(i):
        optimizer.zero_grad()
        weight[i].sum().backward()
        optimizer.step()
        schedule.step()

    step(tw.tensor([0]))
    with pytest.raises(IndexError):
        step(tw.tensor([9]))
    assert schedule.last_epoch == 1 and optimizer.param_groups[0]["lr"] == 0.5
    step(tw.tensor([0]))
    assert weight.tolist() == [-0.5, 1, 1] and step.trace_count <= 2


def test_what_depends_on_data_is_an_error():
    weight = nn.Parameter(tw.ones(1))
    optimizer = optim.SGD([weight], lr=1.0)
    schedule = lrs.ReduceLROnPlateau(optimizer, patience=0)

    @tw.jit
    def step(x, measured):
        (weight * x).sum().backward()
        optimizer.step()
        schedule.step(x if measured is None else measured)

    with pytest.raises(RuntimeError, match=r"ReduceLROnPlateau.step: .*cannot take a tensor"):
        step(tw.ones(1), None)
    assert optimizer.param_groups[0]["lr"] == 1
    for _ in range(2):
        step(tw.ones(1), 5.0)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)

    @tw.jit
    def changed():
        optimizer.param_groups[0]["lr"] *= 0.5
        schedule.step(5.0)

    with pytest.raises(RuntimeError, match="is changed in a traced function before a schedule steps"):
        changed()


def test_options_that_are_pairs_vary_freely():
    weights = [nn.Parameter(tw.ones(3)) for _ in range(2)]
    optimizers = [optim.Adam([weight], lr=0.1) for weight in weights]

    def make(weight, optimizer):
        def step(x):
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()

        return step

    eager, static = make(weights[0], optimizers[0]), tw.jit(make(weights[1], optimizers[1]))
    for i in range(6):
        for optimizer in optimizers:
            optimizer.param_groups[0]["betas"] = (0.9 - 0.1 * i, 0.99)
        eager(tw.ones(3)), static(tw.ones(3))
        assert weights[0].tolist() == weights[1].tolist()
    assert static.trace_count == 2
