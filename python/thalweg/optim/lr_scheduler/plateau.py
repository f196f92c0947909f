"""Lowering the rate when a measured quantity stops improving."""

from __future__ import annotations

import math

from thalweg.optim.lr_scheduler.scheduler import LRScheduler, number, per_group, set_rate

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` after more than `patience` epochs without improvement.

    Args:
        optimizer: the optimizer.
        mode: "min" when smaller is better, else "max".
        factor: below 1.
        patience: how many bad epochs are borne.
        threshold, threshold_mode: what counts as better: by this part of the best ("rel") or by this much ("abs").
        cooldown: epochs after a cut in which bad ones do not count.
        min_lr: the floor, or a list of one a group.
        eps: smaller changes are not made.

    >>> import thalweg as tw
    >>> optimizer = tw.optim.SGD([tw.nn.Parameter(tw.ones(1))], lr=1.0)
    >>> schedule = tw.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    >>> schedule.step(5.0)
    >>> schedule.step(5.0)
    >>> optimizer.param_groups[0]["lr"]
    0.1
    """

    def __init__(
        self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
        min_lr=0, eps=1e-8,
    ):  # fmt: skip
        if not hasattr(optimizer, "param_groups"):
            raise TypeError(f"ReduceLROnPlateau: an Optimizer is wanted, got {type(optimizer).__name__}")
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: a factor below 1 is wanted, got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau: mode 'min' or 'max' is wanted, got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: threshold_mode 'rel' or 'abs' is wanted, got {threshold_mode!r}")
        self.optimizer = optimizer
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = per_group("ReduceLROnPlateau", min_lr, optimizer)
        self.last_epoch = 0
        self._last_lr = self._rates()
        self._reset()

    def _reset(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics, epoch=None):
        """Takes the epoch's measurement, a number or a tensor of one element."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce(self):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):  # groups were added since
            if self.default_min_lr is None:
                raise ValueError(
                    f"ReduceLROnPlateau: {len(groups)} values of min_lr are wanted, got {len(self.min_lrs)}"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = number(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_rate(group, new)

    @property
    def in_cooldown(self):
        """Whether bad epochs do not count now."""
        return self.cooldown_counter > 0

    def is_better(self, a, best):
        """Whether the measurement `a` improves on `best`."""
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            bound = best * (1 - sign * self.threshold)
        else:
            bound = best - sign * self.threshold
        return a < bound if self.mode == "min" else a > bound
