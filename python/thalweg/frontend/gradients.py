"""The tape as a Tensor shows it: backward(), grad, grad_fn, hooks, detach()."""

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach
from thalweg._registry import export

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """What registering a hook returns; remove() takes the hook off, also as a context manager."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    def remove(self) -> None:
        """Takes the hook off; a second call does nothing."""
        if self._remove is not None:
            self._remove()
            self._remove = None

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def _check_hook(register: str, hook: object) -> None:
    if not callable(hook):
        raise TypeError(f"{register}: a callable is wanted, got {type(hook).__name__}")


@export(method=True)
def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of this tensor to the .grad of the leaves it was computed from.

    Args:
        gradient: the gradient flowing in, of this tensor's shape; may be left out for a tensor of one element.
        retain_graph: keep what the tape saved, so that backward can run again; default create_graph.
        create_graph: record the backward pass itself, for higher derivatives.
        inputs: only these tensors get a gradient.

    Raises:
        RuntimeError: the tensor does not require grad, or the tape has been freed.

    >>> import thalweg as tw
    >>> x = tw.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    wanted = [] if inputs is None else [inputs] if isinstance(inputs, Tensor) else list(inputs)
    retain = create_graph if retain_graph is None else retain_graph
    _native.backward([self], [gradient], wanted, retain, create_graph, True, True)


@export(method=True)
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Sets requires_grad and returns the tensor."""
    self.requires_grad = requires_grad
    return self


@export(function=True, method=True)
def detach(input: Tensor) -> Tensor:
    """The same memory off the tape."""
    return _native.detach(input)


@export(method=True)
def detach_(self: Tensor) -> Tensor:
    """Takes this tensor off the tape."""
    _native.detach_(self)
    return self


@export(method=True)
def retain_grad(self: Tensor) -> None:
    """Keeps the gradient of a non-leaf in its .grad."""
    _native.retain_grad(self)


@export(method=True)
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Calls hook(grad) when the gradient of this tensor is complete; what it returns takes the gradient's place."""
    _check_hook("register_hook", hook)
    if not self.requires_grad:
        raise RuntimeError("register_hook: the tensor does not require grad")
    number = _native.add_grad_hook(self, hook)
    return RemovableHandle(lambda: _native.remove_grad_hook(self, number))


@export(method=True)
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Calls hook(leaf) after a gradient has been added to the .grad of a leaf."""
    _check_hook("register_post_accumulate_grad_hook", hook)
    number = _native.add_accumulate_hook(self, hook)
    return RemovableHandle(lambda: _native.remove_accumulate_hook(self, number))


def _node_hook(pre: bool, doc: str) -> Callable[[_native.Node, Callable[..., Any]], RemovableHandle]:
    def register(self: _native.Node, fn: Callable[..., Any]) -> RemovableHandle:
        _check_hook("Node.register_prehook" if pre else "Node.register_hook", fn)
        number = self._add_hook(fn, pre)
        return RemovableHandle(lambda: self._remove_hook(number))

    register.__doc__ = doc
    return register


_native.Node.register_hook = _node_hook(
    False, "Calls fn(grad_inputs, grad_outputs) after the node has run; a tuple it returns takes grad_inputs' place."
)
_native.Node.register_prehook = _node_hook(
    True, "Calls fn(grad_outputs) before the node runs; a tuple it returns takes grad_outputs' place."
)


def _set_grad(self: Tensor, value: Any) -> None:
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"grad: a Tensor or None is wanted, got {type(value).__name__}")
    _native.set_grad(self, value)


attach(
    "grad",
    property(
        lambda self: _native.get_grad(self),
        _set_grad,
        lambda self: _native.set_grad(self, None),
        doc="The gradient that backward has accumulated, or None.",
    ),
)
attach("grad_fn", property(lambda self: _native.grad_fn(self), doc="The node of the tape that made this tensor."))
attach("retains_grad", property(lambda self: _native.retains_grad(self), doc="Whether retain_grad() was called."))
attach(
    "data",
    property(
        lambda self: _native.detach(self),
        lambda self, value: _native.set_data(self, value),
        doc="The same memory off the tape; assigning takes over another tensor's memory.",
    ),
)
attach("_base", property(lambda self: _native.view_base(self), doc="The tensor that this one is a view of, or None."))
attach("_is_view", lambda self: _native.is_view(self))
