"""Schedules given by functions of the epoch."""

from __future__ import annotations

import types

from thalweg.optim.lr_scheduler.scheduler import LRScheduler, per_group

__all__ = ["LambdaLR", "MultiplicativeLR"]


class _FunctionLR(LRScheduler):
    """State: functions cannot be saved; of callable objects their attributes are."""

    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = per_group(type(self).__name__, lr_lambda, optimizer)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"{type(self).__name__}: a function is wanted, got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        state = super().state_dict()
        plain = types.FunctionType
        state["lr_lambdas"] = [None if isinstance(f, plain) else dict(vars(f)) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        for function, saved in zip(self.lr_lambdas, state.pop("lr_lambdas")):
            if saved is not None:
                function.__dict__.update(saved)
        super().load_state_dict(state)


class LambdaLR(_FunctionLR):
    """The initial rate times lr_lambda(epoch); a list has one function a group.

    >>> import thalweg as tw
    >>> optimizer = tw.optim.SGD([tw.nn.Parameter(tw.ones(1))], lr=1.0)
    >>> schedule = tw.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def get_lr(self):
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_FunctionLR):
    """The last rate times lr_lambda(epoch); a list has one function a group."""

    def get_lr(self):
        if self.last_epoch == 0:
            return self._rates()
        return [rate * function(self.last_epoch) for rate, function in zip(self._rates(), self.lr_lambdas)]
