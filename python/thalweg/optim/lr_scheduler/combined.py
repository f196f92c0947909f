"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right

from thalweg.optim.lr_scheduler.scheduler import LRScheduler, set_rate

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Combined(LRScheduler):
    """State: that of the parts is saved with them."""

    _not_saved = ("optimizer", "_schedulers")

    def _take_parts(self, optimizer, schedulers):
        name = type(self).__name__
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError(f"{name}: at least one schedule is wanted, got none")
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for i, part in enumerate(schedulers):
            if not hasattr(part, "optimizer"):
                raise TypeError(f"{name}: schedules of an optimizer are wanted, got {type(part).__name__} at {i}")
            if part.optimizer is not optimizer:
                raise ValueError(f"{name}: schedules of one optimizer are wanted, number {i} has another")
        self.optimizer, self._schedulers = optimizer, schedulers

    def state_dict(self):
        return {**super().state_dict(), "_schedulers": [part.state_dict() for part in self._schedulers]}

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        for part, saved in zip(self._schedulers, state.pop("_schedulers")):
            part.load_state_dict(saved)
        super().load_state_dict(state)


class SequentialLR(_Combined):
    """Follows schedulers[0] up to milestones[0], then schedulers[1] from its own beginning, and so on.

    >>> import thalweg as tw
    >>> optimizer = tw.optim.SGD([tw.nn.Parameter(tw.ones(1))], lr=1.0)
    >>> kinds = tw.optim.lr_scheduler
    >>> parts = [kinds.ConstantLR(optimizer, factor=0.5, total_iters=9), kinds.ExponentialLR(optimizer, gamma=0.9)]
    >>> schedule = kinds.SequentialLR(optimizer, parts, milestones=[1])
    >>> rates = schedule.get_last_lr()
    >>> optimizer.step()
    >>> schedule.step()
    >>> rates + schedule.get_last_lr()
    [0.5, 1.0]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._take_parts(optimizer, schedulers)
        if len(milestones) != len(self._schedulers) - 1:
            wanted = len(self._schedulers) - 1
            raise ValueError(f"SequentialLR: {wanted} milestones are wanted, got {len(milestones)}")
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        # Each part took a first step when it was made: undo that, then take the first part's again.
        for group in self.optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for part in self._schedulers:
            part.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self):
        """Moves to the next epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        part = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            part._advance(0)
        else:
            part.step()
        self._last_lr = part.get_last_lr()


class ChainedScheduler(_Combined):
    """Steps several schedules together; each changes the rates that those before it have set."""

    def __init__(self, schedulers, optimizer=None):
        self._take_parts(optimizer, schedulers)
        self._last_lr = self._rates()

    def step(self):
        """Steps every schedule, in order."""
        for part in self._schedulers:
            part.step()
        self._last_lr = self._rates()
