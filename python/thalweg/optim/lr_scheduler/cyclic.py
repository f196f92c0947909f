"""Schedules that raise and lower the rate, and lower and raise momentum: cyclic and one-cycle (Smith, 2017, 2018)."""

from __future__ import annotations

import math

from thalweg.optim.lr_scheduler.scheduler import LRScheduler, per_group, set_rate

__all__ = ["CyclicLR", "OneCycleLR"]


def _momentum_key(name, optimizer):
    """Which option holds momentum: "momentum", or "betas", whose first entry it is."""
    for key in ("betas", "momentum"):
        if key in optimizer.defaults:
            return key
    raise ValueError(f"{name}: cycle_momentum wants an optimizer with momentum or betas")


def _set_momentum(group, key, value):
    group[key] = (value, *group[key][1:]) if key == "betas" else value


class CyclicLR(LRScheduler):
    """Moves the rate between base_lr and max_lr, up in step_size_up steps and down in step_size_down.

    Args:
        optimizer: the optimizer.
        base_lr, max_lr: the bounds, or a list of one a group.
        step_size_up, step_size_down: in steps; down is by default as long as up.
        mode: "triangular", "triangular2" (each cycle half as high) or "exp_range" (times gamma^step).
        gamma: see above.
        scale_fn, scale_mode: a function of one's own of the "cycle" or of "iterations" in the mode's place.
        cycle_momentum, base_momentum, max_momentum: move momentum too, the other way.
        last_epoch: see LRScheduler.
    """

    _not_saved = ("optimizer", "scale_fn")

    def __init__(
        self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
        scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1,
    ):  # fmt: skip
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"CyclicLR: a known mode or scale_fn is wanted, got {mode!r}")
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, per_group("CyclicLR", base_lr, optimizer)):
                set_rate(group, rate)
                group["initial_lr"] = rate
        self.max_lrs = per_group("CyclicLR", max_lr, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self.scale_fn, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._momentum = _momentum_key("CyclicLR", optimizer)
            self.base_momentums = per_group("CyclicLR", base_momentum, optimizer)
            self.max_momentums = per_group("CyclicLR", max_momentum, optimizer)
            for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self._momentum, high)
                group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def _scale(self, cycle):
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (cycle - 1)
        return self.gamma**self.last_epoch if self.mode == "exp_range" else 1.0

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self._scale(cycle)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self._momentum, high - (high - low) * height)
        return [base + (top - base) * height for base, top in zip(self.base_lrs, self.max_lrs)]


class OneCycleLR(LRScheduler):
    """One rise from max_lr / div_factor to max_lr and one fall far below, over a known number of steps.

    Args:
        optimizer: the optimizer.
        max_lr: the top, or a list of one a group.
        total_steps: the number of steps, or else epochs and steps_per_epoch.
        pct_start: the part of the steps spent rising.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: move momentum the other way.
        div_factor, final_div_factor: the first rate is max_lr / div_factor, the last one that / final_div_factor.
        three_phase: fall back to the first rate as fast as it rose, then to the last.
        last_epoch: see LRScheduler.

    Errors: ValueError for a step beyond the last.

    >>> import thalweg as tw
    >>> optimizer = tw.optim.SGD([tw.nn.Parameter(tw.ones(1))], lr=1.0, momentum=0.9)
    >>> schedule = tw.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> round(schedule.get_last_lr()[0], 6)
    0.04
    """

    def __init__(
        self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
        anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
        final_div_factor=1e4, three_phase=False, last_epoch=-1,
    ):  # fmt: skip
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: a pct_start between 0 and 1 is wanted, got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy 'cos' or 'linear' is wanted, got {anneal_strategy!r}")
        self._anneal_func_type = anneal_strategy
        self._phases = _phases(self.total_steps, pct_start, three_phase, cycle_momentum)
        self.cycle_momentum = cycle_momentum
        self._momentum = _momentum_key("OneCycleLR", optimizer) if cycle_momentum else None
        if last_epoch == -1:
            tops = per_group("OneCycleLR", max_lr, optimizer)
            lows = per_group("OneCycleLR", base_momentum, optimizer)
            highs = per_group("OneCycleLR", max_momentum, optimizer)
            for group, top, low, high in zip(optimizer.param_groups, tops, lows, highs):
                first = top / div_factor
                group.update(initial_lr=first, max_lr=top, min_lr=first / final_div_factor)
                if cycle_momentum:
                    _set_momentum(group, self._momentum, high)
                    group.update(max_momentum=high, base_momentum=low)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR: a step of at most {self.total_steps} is wanted, got {step}")
        index = next((i for i, phase in enumerate(self._phases) if step <= phase[0]), len(self._phases) - 1)
        start = self._phases[index - 1][0] if index else 0.0
        end, lr_from, lr_to, momentum_from, momentum_to = self._phases[index]
        # A phase of no length is only met at its end.
        position = (step - start) / (end - start) if end > start else 1.0
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[lr_from], group[lr_to], position))
            if self.cycle_momentum:
                momentum = self._anneal(group[momentum_from], group[momentum_to], position)
                _set_momentum(group, self._momentum, momentum)
        return rates

    def _anneal(self, start, end, position):
        if self._anneal_func_type == "linear":
            return (end - start) * position + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * position) + 1)


def _total_steps(total_steps, epochs, steps_per_epoch):
    if total_steps is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("OneCycleLR: total_steps, or epochs and steps_per_epoch, are wanted")
        total_steps = epochs * steps_per_epoch
    if not isinstance(total_steps, int) or total_steps <= 0:
        raise ValueError(f"OneCycleLR: a positive int is wanted as total_steps, got {total_steps}")
    return total_steps


def _phases(total_steps, pct_start, three_phase, cycle_momentum):
    """Phases as (last step, lr from, lr to, momentum from, momentum to); the names are a group's options."""
    low, high = ("base_momentum", "max_momentum") if cycle_momentum else (None, None)
    peak = float(pct_start * total_steps) - 1
    rise = (peak, "initial_lr", "max_lr", high, low)
    if not three_phase:
        return [rise, (total_steps - 1, "max_lr", "min_lr", low, high)]
    fall = (float(2 * pct_start * total_steps) - 2, "max_lr", "initial_lr", low, high)
    return [rise, fall, (total_steps - 1, "initial_lr", "min_lr", high, high)]
