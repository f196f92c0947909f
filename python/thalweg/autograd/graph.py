"""What the tape keeps: hooks on the tensors that operations save for backward."""

from collections.abc import Callable
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor

__all__ = ["saved_tensors_hooks"]


class saved_tensors_hooks:
    """A block in which tensors saved for backward are packed: `unpack(pack(tensor))` is what backward gets.

    Args:
        pack_hook: takes a tensor that an operation saves, returns any object to be kept in its place.
        unpack_hook: takes that object, returns a tensor of the same values.

    What the hooks themselves compute is not packed. Blocks nest: the innermost hooks are used.

    >>> import thalweg as tw
    >>> x, kept = tw.tensor([2.0, 3.0], requires_grad=True), []
    >>> with tw.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numpy(force=True)) or len(kept) - 1,
    ...                                            lambda i: tw.tensor(kept[i])):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad, len(kept)
    (tensor([4., 6.]), 2)
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self._hooks = _native.SavedHooks(pack_hook, unpack_hook)

    def __enter__(self) -> None:
        self._hooks.enter()

    def __exit__(self, *failure: object) -> None:
        self._hooks.leave()
