"""The base of all learning-rate schedules."""

from __future__ import annotations

import functools
import warnings

import thalweg as tw
from thalweg.jit.context import tracing

__all__ = ["LRScheduler"]


def _traceable(step):
    """A step that a traced function leaves to every call, before its program runs."""

    @functools.wraps(step)
    def traceable(self, *args, **kwargs):
        if tracing.current is not None:
            return tracing.current.step_schedule(self, step, args, kwargs)
        return step(self, *args, **kwargs)

    return traceable


class LRScheduler:
    """Sets the learning rate of an optimizer's groups; `step` is called once an epoch, or once a step.

    Args:
        optimizer: the optimizer.
        last_epoch: the number of the last epoch when resuming; -1 to start. With another number every group must have
            "initial_lr".

    A subclass gives `get_lr()`, the next rates from the groups' current ones, so that schedules can be combined; and,
    where there is one, `_get_closed_form_lr()`, the rates from last_epoch alone.

    Resuming: build optimizer and schedule as at the start, then load both states, in either order.

    >>> import thalweg as tw
    >>> optimizer = tw.optim.SGD([tw.nn.Parameter(tw.ones(1))], lr=1.0)
    >>> schedule = tw.optim.lr_scheduler.StepLR(optimizer, step_size=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.1]
    """

    _not_saved: tuple[str, ...] = ("optimizer",)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _traceable(cls.step)

    def __init__(self, optimizer, last_epoch=-1):
        if not hasattr(optimizer, "param_groups"):
            raise TypeError(f"{type(self).__name__}: an Optimizer is wanted, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, tw.Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(f"{type(self).__name__}: group {i} has no initial_lr, which resuming wants")
        self.base_lrs = [number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._advance()

    def get_last_lr(self):
        """The rates that the last step set, one a group."""
        if tracing.current is not None:
            tracing.current.lift_schedule(self)
        return self._last_lr

    def get_lr(self):
        """The rates of the epoch last_epoch, one a group."""
        raise NotImplementedError(f"get_lr: {type(self).__name__} does not define it")

    @_traceable
    def step(self, epoch=None):
        """Moves to the next epoch, or to `epoch`, and sets the rates of all groups."""
        if self._step_count == 1 and not getattr(self.optimizer, "_stepped", True):
            warnings.warn(
                f"{type(self).__name__}.step came before optimizer.step: the first rate is never used", stacklevel=2
            )
        self._advance(epoch)

    def _advance(self, epoch=None):
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._set_rates(rates)

    def _set_rates(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            set_rate(group, rate)
        self._last_lr = self._rates()

    def _rates(self):
        """The groups' current rates as numbers."""
        return [number(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        """The current rates times `factor`."""
        return [rate * factor for rate in self._rates()]

    def state_dict(self):
        """Everything but the optimizer, as a dict of plain values."""
        return {name: value for name, value in self.__dict__.items() if name not in self._not_saved}

    def load_state_dict(self, state_dict):
        """Takes over what state_dict gave; the optimizer's rates come with the optimizer's own state."""
        self.__dict__.update(state_dict)


def number(value):
    """The Python number in `value`, which may be a tensor of one element."""
    return value.item() if isinstance(value, tw.Tensor) else value


def set_rate(group, rate, option="lr"):
    """Sets a group's rate; one that is a tensor keeps being the same tensor."""
    if isinstance(group[option], tw.Tensor):
        group[option].fill_(rate)
    else:
        group[option] = rate


def per_group(name, value, optimizer):
    """`value` as a list with one entry a group; a single value is for all."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"{name}: one value for each of {groups} groups is wanted, got {len(value)}")
    return list(value)
