"""Cosine schedules, once or with warm restarts (Loshchilov & Hutter, 2017)."""

from __future__ import annotations

import math

from thalweg.optim.lr_scheduler.scheduler import LRScheduler

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """eta_min + (initial - eta_min) (1 + cos(π t / T_max)) / 2; after T_max epochs it rises again.

    >>> import thalweg as tw
    >>> optimizer = tw.optim.SGD([tw.nn.Parameter(tw.ones(1))], lr=1.0)
    >>> schedule = tw.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> schedule.step()
    >>> round(schedule.get_last_lr()[0], 6)
    0.5
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _cosine(self, epoch):
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self):
        epoch, lowest = self.last_epoch, self.eta_min
        if epoch == 0:
            return self._rates()
        if self._step_count == 1 and epoch > 0:  # resumed by last_epoch: the current rate is not known
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the rate was eta_min, which no factor leads away from
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - lowest) * rise for base, rate in zip(self.base_lrs, self._rates())]
        factor = self._cosine(epoch) / self._cosine(epoch - 1)
        return [factor * (rate - lowest) + lowest for rate in self._rates()]

    def _get_closed_form_lr(self):
        factor = self._cosine(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * factor for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """CosineAnnealingLR that starts again after T_0 epochs, then after T_0 · T_mult, and so on.

    `step(epoch)` takes fractions, so that it can be called for every batch: step(epoch + i / batches).
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: a positive int is wanted as T_0, got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"CosineAnnealingWarmRestarts: an int of at least 1 is wanted as T_mult, got {T_mult}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        factor = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * factor for base in self.base_lrs]

    def _advance(self, epoch=None):
        self._step_count += 1
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: a non-negative epoch is wanted, got {epoch}")
        else:
            self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self.get_lr())

    def _place(self, epoch):
        """Sets the length of the period that `epoch` is in, and how far into it that is."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            # n periods end at T_0 (T_mult^n - 1) / (T_mult - 1).
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
