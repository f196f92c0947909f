"""Schedules against closed forms; resuming in either order; combinations; errors."""

import copy
import math

import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.optim import lr_scheduler as lrs


def make(schedule, kind="SGD", **options):
    if kind == "SGD":
        options = {"momentum": 0.9, **options}
    groups = [{"params": nn.Parameter(tw.zeros(1))}, {"params": nn.Parameter(tw.zeros(1)), "lr": 0.5}]
    optimizer = getattr(optim, kind)(groups, lr=1.0, **options)
    return optimizer, schedule(optimizer)


def rates(optimizer):
    return [group["lr"] for group in optimizer.param_groups]


def follow(optimizer, schedule, steps):
    seen = [rates(optimizer)]
    for _ in range(steps):
        optimizer.step()
        schedule.step()
        seen.append(rates(optimizer))
    return seen


def warm_restart(t, first=3, factor=2, lowest=0.1):
    length = first
    while t >= length:
        t, length = t - length, length * factor
    return lowest, (1 + math.cos(math.pi * t / length)) / 2


def triangle(t, up=4, down=2):
    t %= up + down
    return t / up if t <= up else 1 - (t - up) / down


FACTORS = {
    "step": (lambda o: lrs.StepLR(o, 3, 0.5), lambda t: 0.5 ** (t // 3)),
    "multi-step": (lambda o: lrs.MultiStepLR(o, [2, 2, 7], 0.5), lambda t: 0.5 ** (2 * (t >= 2) + (t >= 7))),
    "exponential": (lambda o: lrs.ExponentialLR(o, 0.9), lambda t: 0.9**t),
    "constant": (lambda o: lrs.ConstantLR(o, 0.25, 4), lambda t: 0.25 if t < 4 else 1),
    "linear": (lambda o: lrs.LinearLR(o, 0.2, 0.8, 5), lambda t: 0.2 + 0.6 * min(t, 5) / 5),
    "polynomial": (lambda o: lrs.PolynomialLR(o, 8, 2.0), lambda t: (1 - min(t, 8) / 8) ** 2),
    "lambda": (lambda o: lrs.LambdaLR(o, lambda t: 1 / (1 + t)), lambda t: 1 / (1 + t)),
    "multiplicative": (lambda o: lrs.MultiplicativeLR(o, lambda t: 0.8), lambda t: 0.8**t),
    "cosine": (lambda o: lrs.CosineAnnealingLR(o, 6), lambda t: (1 + math.cos(math.pi * t / 6)) / 2),
}


@pytest.mark.parametrize("name", list(FACTORS))
def test_factor_of_the_initial_rate(name):
    schedule, factor = FACTORS[name]
    for t, seen in enumerate(follow(*make(schedule), 20)):
        assert seen == pytest.approx([factor(t), 0.5 * factor(t)], abs=1e-12), t


def test_cosine_above_a_floor():
    for t, seen in enumerate(follow(*make(lambda o: lrs.CosineAnnealingLR(o, 6, eta_min=0.1)), 20)):
        part = (1 + math.cos(math.pi * t / 6)) / 2
        assert seen == pytest.approx([0.1 + 0.9 * part, 0.1 + 0.4 * part], abs=1e-12), t


def test_warm_restarts():
    optimizer, schedule = make(lambda o: lrs.CosineAnnealingWarmRestarts(o, 3, 2, eta_min=0.1))
    for t, seen in enumerate(follow(optimizer, schedule, 20)):
        lowest, part = warm_restart(t)
        assert seen == pytest.approx([lowest + (1 - lowest) * part, lowest + (0.5 - lowest) * part]), t
    for t in (0.5, 3.25, 10.75):
        schedule.step(t)
        lowest, part = warm_restart(t)
        assert rates(optimizer)[0] == pytest.approx(lowest + (1 - lowest) * part), t


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, lambda t: 1),
        ({"mode": "triangular2"}, lambda t: 0.5 ** (t // 6)),
        ({"mode": "exp_range", "gamma": 0.9}, lambda t: 0.9**t),
        ({"scale_fn": lambda cycle: 1 / cycle}, lambda t: 1 / (t // 6 + 1)),
        ({"scale_fn": lambda i: 1 / (1 + i), "scale_mode": "iterations"}, lambda t: 1 / (1 + t)),
    ],
)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_cyclic(kind, options, scale):
    optimizer, schedule = make(lambda o: lrs.CyclicLR(o, 0.1, [1.0, 0.3], 4, 2, **options), kind)
    for t in range(20):
        height = triangle(t) * scale(t)
        assert rates(optimizer) == pytest.approx([0.1 + 0.9 * height, 0.1 + 0.2 * height]), t
        group = optimizer.param_groups[0]
        momentum = group["momentum"] if kind == "SGD" else group["betas"][0]
        assert momentum == pytest.approx(0.9 - 0.1 * height), t
        optimizer.step()
        schedule.step()


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("three_phase", [False, True])
def test_one_cycle(strategy, three_phase):
    optimizer, schedule = make(
        lambda o: lrs.OneCycleLR(o, 2.0, 20, pct_start=0.25, anneal_strategy=strategy, three_phase=three_phase)
    )

    def between(a, b, part):
        return a + (b - a) * (part if strategy == "linear" else (1 - math.cos(math.pi * part)) / 2)

    first, top, last = 2.0 / 25, 2.0, 2.0 / 25 / 1e4
    for t, seen in enumerate(follow(optimizer, schedule, 19)):
        if t <= 4:
            expected = between(first, top, t / 4)
        elif not three_phase:
            expected = between(top, last, (t - 4) / 15)
        else:
            expected = between(top, first, (t - 4) / 4) if t <= 8 else between(first, last, (t - 8) / 11)
        assert seen == pytest.approx([expected] * 2), t
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    schedule.step()
    with pytest.raises(ValueError, match="at most 20"):
        schedule.step()


def test_sequential():
    def schedule(o):
        return lrs.SequentialLR(
            o, [lrs.ConstantLR(o, 0.1, 3), lrs.ExponentialLR(o, 0.5), lrs.StepLR(o, 2, 0.1)], [3, 5]
        )

    seen = [pair[0] for pair in follow(*make(schedule), 8)]
    assert seen == pytest.approx([0.1, 0.1, 0.1, 1.0, 0.5, 1.0, 1.0, 0.1, 0.1])


def test_chained():
    def schedule(o):
        return lrs.ChainedScheduler([lrs.ConstantLR(o, 0.1, 2), lrs.ExponentialLR(o, 0.5)])

    optimizer, chained = make(schedule)
    seen = [pair[0] for pair in follow(optimizer, chained, 4)]
    assert seen == pytest.approx([0.1, 0.05, 0.25, 0.125, 0.0625])
    assert chained.get_last_lr() == rates(optimizer)


COMBINED = {
    "warm restarts": lambda o: lrs.CosineAnnealingWarmRestarts(o, 3, 2),
    "one cycle": lambda o: lrs.OneCycleLR(o, 1.0, 60),
    "cyclic": lambda o: lrs.CyclicLR(o, 0.1, 1.0, 4, mode="triangular2"),
    "sequential": lambda o: lrs.SequentialLR(o, [lrs.LinearLR(o), lrs.CosineAnnealingLR(o, 9)], [15]),
    "chained": lambda o: lrs.ChainedScheduler([lrs.ExponentialLR(o, 0.9), lrs.StepLR(o, 4)]),
}


@pytest.mark.parametrize("optimizer_first", [True, False])
@pytest.mark.parametrize("name", [*FACTORS, *COMBINED])
def test_a_resumed_schedule_goes_on_bit_for_bit(name, optimizer_first):
    schedule = COMBINED[name] if name in COMBINED else FACTORS[name][0]
    optimizer, running = make(schedule)
    follow(optimizer, running, 13)
    saved = copy.deepcopy((optimizer.state_dict(), running.state_dict()))
    fresh, resumed = make(schedule)
    for index in (0, 1) if optimizer_first else (1, 0):
        (fresh, resumed)[index].load_state_dict(saved[index])
    assert rates(fresh) == rates(optimizer)
    assert follow(fresh, resumed, 20) == follow(optimizer, running, 20)


@pytest.mark.parametrize("optimizer_first", [True, False])
def test_a_cosine_resumed_after_45_of_100_epochs(optimizer_first):  # cases.md U050
    optimizer, running = make(lambda o: lrs.CosineAnnealingLR(o, 100))
    follow(optimizer, running, 45)
    fresh, resumed = make(lambda o: lrs.CosineAnnealingLR(o, 100))
    if optimizer_first:
        fresh.load_state_dict(optimizer.state_dict())
    resumed.load_state_dict(running.state_dict())
    if not optimizer_first:
        fresh.load_state_dict(optimizer.state_dict())
    assert rates(fresh)[0] == pytest.approx(0.578217, abs=5e-7) and resumed.get_last_lr()[0] == rates(fresh)[0]
    assert follow(fresh, resumed, 55) == follow(optimizer, running, 55)


def test_a_callable_object_is_saved_with_its_attributes():
    class Falling:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, t):
            return self.factor**t

    _, first = make(lambda o: lrs.LambdaLR(o, [Falling(0.5), lambda t: 1.0]))
    optimizer, second = make(lambda o: lrs.LambdaLR(o, [Falling(0.1), lambda t: 1.0]))
    second.load_state_dict(first.state_dict())
    follow(optimizer, second, 1)
    assert rates(optimizer) == [0.5, 0.5]


def test_plateau_waits_cuts_and_cools_down():
    optimizer, schedule = make(
        lambda o: lrs.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=2, min_lr=[0.2, 0.3])
    )
    seen = []
    for value in (5.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 3.0, 3.0, 3.0):
        schedule.step(tw.tensor(value))
        seen.append(tuple(rates(optimizer)))
    assert seen == [(1.0, 0.5)] * 3 + [(0.5, 0.3)] * 4 + [(0.25, 0.3)] * 4
    assert schedule.best == 3.0 and schedule.get_last_lr() == [0.25, 0.3]
    _, other = make(lambda o: lrs.ReduceLROnPlateau(o))
    other.load_state_dict(schedule.state_dict())
    assert (other.best, other.patience, other.num_bad_epochs) == (3.0, 1, schedule.num_bad_epochs)


@pytest.mark.parametrize(
    ("options", "better", "worse"),
    [
        ({"mode": "min", "threshold": 0.1}, 8.9, 9.1),
        ({"mode": "max", "threshold": 0.1}, 11.1, 10.9),
        ({"mode": "min", "threshold": 2.0, "threshold_mode": "abs"}, 7.9, 8.1),
        ({"mode": "max", "threshold": 2.0, "threshold_mode": "abs"}, 12.1, 11.9),
    ],
)
def test_what_counts_as_better(options, better, worse):
    _, schedule = make(lambda o: lrs.ReduceLROnPlateau(o, **options))
    assert schedule.is_better(better, 10.0) and not schedule.is_better(worse, 10.0)


def test_a_tensor_rate_stays_the_same_tensor():
    rate = tw.tensor(1.0)
    optimizer = optim.SGD([nn.Parameter(tw.zeros(1))], lr=rate)
    schedule = lrs.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.5


def test_a_schedule_that_comes_first_warns():
    _, schedule = make(lambda o: lrs.ExponentialLR(o, 0.5))
    with pytest.warns(UserWarning, match="came before optimizer.step"):
        schedule.step()


def test_last_epoch_resumes_with_initial_rates():
    optimizer, _ = make(lambda o: lrs.StepLR(o, 2))
    schedule = lrs.CosineAnnealingLR(optimizer, 10, last_epoch=4)
    assert schedule.last_epoch == 5 and rates(optimizer)[0] == pytest.approx(0.5)
    with pytest.raises(KeyError, match="initial_lr"):
        lrs.StepLR(optim.SGD([nn.Parameter(tw.zeros(1))]), 2, last_epoch=4)


@pytest.mark.parametrize(
    ("schedule", "error"),
    [
        (lambda o: lrs.StepLR(3, 1), TypeError),
        (lambda o: lrs.ConstantLR(o, 1.5), ValueError),
        (lambda o: lrs.LinearLR(o, 0.0), ValueError),
        (lambda o: lrs.LinearLR(o, 1.0, 2.0), ValueError),
        (lambda o: lrs.LambdaLR(o, [abs]), ValueError),
        (lambda o: lrs.LambdaLR(o, 3), TypeError),
        (lambda o: lrs.CosineAnnealingWarmRestarts(o, 0), ValueError),
        (lambda o: lrs.CosineAnnealingWarmRestarts(o, 1, 0.5), ValueError),
        (lambda o: lrs.CosineAnnealingWarmRestarts(o, 1).step(-1), ValueError),
        (lambda o: lrs.OneCycleLR(o, 1.0), ValueError),
        (lambda o: lrs.OneCycleLR(o, 1.0, 10, pct_start=2.0), ValueError),
        (lambda o: lrs.OneCycleLR(o, 1.0, 10, anneal_strategy="x"), ValueError),
        (lambda o: lrs.CyclicLR(o, 0.1, 1.0, mode="x"), ValueError),
        (lambda o: lrs.SequentialLR(o, [lrs.StepLR(o, 1)], [1]), ValueError),
        (lambda o: lrs.SequentialLR(o, [lrs.StepLR(make(lambda p: None)[0], 1)], []), ValueError),
        (lambda o: lrs.ChainedScheduler([]), ValueError),
        (lambda o: lrs.ReduceLROnPlateau(o, factor=1.0), ValueError),
        (lambda o: lrs.ReduceLROnPlateau(o, mode="x"), ValueError),
        (lambda o: lrs.ReduceLROnPlateau(o, threshold_mode="x"), ValueError),
        (lambda o: lrs.ReduceLROnPlateau(o, min_lr=[0.1]), ValueError),
    ],
)
def test_errors(schedule, error):
    with pytest.raises(error):
        make(schedule)


def test_momentum_cannot_cycle_where_there_is_none():
    with pytest.raises(ValueError, match="momentum or betas"):
        lrs.OneCycleLR(optim.Adagrad([nn.Parameter(tw.zeros(1))]), 1.0, 10)
