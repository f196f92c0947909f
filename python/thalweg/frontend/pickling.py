"""Pickle and deep copies. What is written is the tensor's own elements, not the rest of its storage."""

import copy
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach, dtype
from thalweg._registry import ops
from thalweg.frontend.placement import layout_for


def _rebuild(
    cls: type,
    data: bytes,
    size: tuple,
    d: dtype,
    requires_grad: bool,
    attributes: dict | None,
    lies: tuple | None = None,
) -> Tensor:
    result = _native.from_bytes(data, list(size), d)
    if lies is not None:
        result = _native.whole_to_global(result, layout_for(lies[0], lies[1], len(size), "pickle"), None)
    if cls is not Tensor:
        result = Tensor._make_subclass(cls, result, requires_grad)
    elif requires_grad:
        result.requires_grad = True
    if attributes:
        result.__dict__.update(attributes)
    return result


def _reduce(self: Tensor, protocol: int) -> tuple:
    if not self.is_leaf:
        raise RuntimeError("pickle: only leaf tensors can be pickled; detach() this one")
    data = _native.to_bytes(self)
    state = (type(self), data, tuple(self.shape), self.dtype, self.requires_grad, self.__dict__ or None)
    return _rebuild, state + (((self.placement, self.sbp),) if _native.is_global(self) else ())


def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError("deepcopy: only leaf tensors can be copied; detach() this one")
    result: Any = ops.clone(self.detach())
    if type(self) is not Tensor:
        result = Tensor._make_subclass(type(self), result, self.requires_grad)
    elif self.requires_grad:
        result.requires_grad = True
    memo[id(self)] = result
    if self.grad is not None:
        result.grad = _deepcopy(self.grad, memo)
    result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


attach("__reduce_ex__", _reduce)
attach("__deepcopy__", _deepcopy)
