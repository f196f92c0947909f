"""Modules that learn some of their sizes from their first input."""

from __future__ import annotations

import thalweg as tw
from thalweg.nn.module import Module
from thalweg.nn.parameter import Parameter

__all__ = ["LazyModule", "UninitializedParameter"]


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet; it holds no element until its module sees an input or a state dict.

    >>> import thalweg as tw
    >>> tw.nn.UninitializedParameter(dtype=tw.float64).dtype == tw.float64
    True
    """

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return tw.Tensor._make_subclass(cls, tw.empty(0, device=device, dtype=dtype), requires_grad)

    def materialize(self, shape):
        """Takes `shape`, uninitialised, and becomes a Parameter; the object, and so any optimizer, stays the same."""
        self.data = tw.empty(shape, device=self.device, dtype=self.dtype)
        self.__class__ = Parameter

    def __repr__(self):
        return "UninitializedParameter()"


class LazyModule(Module):
    """Put before a module class: at the first call `_shapes(*inputs)` gives the shape of every parameter by name.

    The module then draws its parameters with reset_parameters and becomes a `_becomes`. A state dict that is loaded
    before the first call gives the shapes too.
    """

    _becomes: type

    def has_uninitialized_params(self):
        """Whether some parameter still waits for its shape."""
        return any(isinstance(p, UninitializedParameter) for p in self._parameters.values())

    def __call__(self, *args, **kwargs):
        if self.has_uninitialized_params():
            self._materialize(self._shapes(*args, **kwargs))
            self.reset_parameters()
        self.__class__ = self._becomes
        return self(*args, **kwargs)

    def _materialize(self, shapes):
        for name, parameter in self._parameters.items():
            if isinstance(parameter, UninitializedParameter):
                parameter.materialize(shapes[name])

    def _plan_tensor(self, plan, key, name, tensor):
        if isinstance(tensor, UninitializedParameter) and isinstance(plan.state_dict.get(key), tw.Tensor):
            value = plan.state_dict[key]
            plan.wanted.add(key)
            plan.commits.append(lambda: _take(tensor, value))
        else:
            super()._plan_tensor(plan, key, name, tensor)


def _take(parameter, value):
    parameter.materialize(tuple(value.shape))
    parameter.copy_(value)
