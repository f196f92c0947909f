"""Tensors that a Module finds by itself: parameters, which are trained, and buffers, which are only kept."""

from __future__ import annotations

import copy

import thalweg as tw

__all__ = ["Buffer", "Parameter"]


def _rebuild(cls, data, requires_grad, attributes):
    tensor = tw.Tensor._make_subclass(cls, data, requires_grad)
    tensor.__dict__.update(attributes)
    return tensor


class _Owned(tw.Tensor):
    """What parameters and buffers share: copying and pickling keep the class and the attributes set on it."""

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        data = self.detach().clone()
        result = memo[id(self)] = _rebuild(type(self), data, self.requires_grad, {})
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return result

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.detach(), self.requires_grad, dict(self.__dict__))


class Parameter(_Owned):
    """A tensor that becomes a parameter of the Module it is assigned to.

    Args:
        data: the values, any shape; it is shared, not copied. Default: an empty tensor.
        requires_grad: whether gradients are kept for it; needs a floating or complex dtype.

    Returns: the parameter, a leaf of the tape.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.ones(2, 3))
    >>> weight.requires_grad, weight.is_leaf
    (True, True)
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = tw.empty(0)
        return tw.Tensor._make_subclass(cls, data.detach(), requires_grad)

    def __repr__(self):
        return f"Parameter containing:\n{self.detach()!r}"


class Buffer(_Owned):
    """A tensor that becomes a buffer of the Module it is assigned to: moved and saved with it, never trained.

    Args:
        data: the values, any shape; shared, not copied. Default: an empty tensor.
        persistent: whether it is part of the module's state_dict.

    >>> import thalweg as tw
    >>> class Counter(tw.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.count = tw.nn.Buffer(tw.zeros(1))
    >>> list(Counter().state_dict())
    ['count']
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = tw.empty(0)
        tensor = tw.Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        tensor.persistent = persistent
        return tensor

    def __repr__(self):
        return f"Buffer containing:\n{self.detach()!r}"
