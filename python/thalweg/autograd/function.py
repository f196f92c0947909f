"""Operations whose gradient the user writes in Python."""

from collections.abc import Callable
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.autograd.modes import enable_grad, no_grad, set_grad_enabled

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What forward leaves for backward: saved tensors and any attribute."""

    def __init__(self) -> None:
        self._to_save: tuple = ()
        self._saved: Any = None
        self._node: Any = None
        self._dirty: tuple = ()
        self._non_differentiable: tuple = ()
        self._materialize = True
        self._freed = False
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors (inputs, outputs or others) for backward; changing them in place is then noticed."""
        self._to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs forward has changed in place; each must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward gets None instead of zeros where no gradient flows in."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple:
        """What save_for_backward kept.

        Raises:
            RuntimeError: a saved tensor was changed in place since, or the tape has been freed.
        """
        if self._freed:
            raise RuntimeError(
                "saved_tensors: backward has already run and freed what it saved; pass retain_graph=True to it"
            )
        if self._saved is None:
            return tuple(self._to_save)
        return tuple(self._saved.unpack(self._node()))


class Function:
    """Base of custom operations: define static forward(ctx, ...) and backward(ctx, *grads), call apply(...).

    A class that defines setup_context(ctx, inputs, output) has a forward without ctx.

    >>> import thalweg as tw
    >>> class Square(tw.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = tw.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    setup_context: Callable | None = None

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; tensors inside are not recorded."""
        raise NotImplementedError("Function: define a static forward")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Tensor | None) -> Any:
        """Returns the gradient of each argument of forward, None where there is none."""
        raise NotImplementedError("Function: define a static backward")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward and puts the operation on the tape."""
        ctx = _Context(cls, args)
        inputs = [arg for arg in args if isinstance(arg, Tensor)]
        record = _native.needs_record(inputs)
        ctx.needs_input_grad = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        with no_grad():
            if cls.setup_context is None:
                output = cls.forward(ctx, *args)
            else:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
        return ctx.record(output, inputs) if record else output


class _Context(FunctionCtx):
    """The context as the tape's node uses it."""

    def __init__(self, function: type[Function], args: tuple) -> None:
        super().__init__()
        self._function = function
        self._positions = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        self._count = len(args)

    def record(self, output: Any, inputs: list[Tensor]) -> Any:
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        node = _native.make_node(self, f"{self._function.__name__}Backward", inputs, self._materialize)
        results = []
        for item in outputs:
            if not isinstance(item, Tensor):
                results.append(item)
                continue
            dirty = any(item is t for t in self._dirty)
            if any(item is t for t in inputs) and not dirty:
                item = _native.detach(item)  # an input returned as it is gets a tensor of its own
            constant = any(item is t for t in self._non_differentiable)
            _native.add_output(node, item, not constant and (item.dtype.is_floating_point or item.dtype.is_complex))
            results.append(item)
        are_outputs = [any(t is r for r in results) for t in self._to_save]
        self._saved = _native.SavedTensors(list(self._to_save), are_outputs)
        self._to_save = ()
        self._node = _native.weak_node(node)  # the node owns this context, so this must not own the node
        return tuple(results) if isinstance(output, (tuple, list)) else results[0]

    def _run_backward(self, grads: tuple) -> list:
        results = self._function.backward(self, *grads)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        while len(results) > self._count and results[-1] is None:
            results.pop()
        if len(results) != self._count:
            raise RuntimeError(
                f"{self._function.__name__}: backward must return {self._count} gradients, got {len(results)}"
            )
        return [results[i] for i in self._positions]

    def _release(self) -> None:
        self._saved = None
        self._freed = True


def once_differentiable(backward: Callable) -> Callable:
    """Marks a backward whose own gradient must not be asked for."""

    def wrapped(ctx: FunctionCtx, *grads: Tensor | None) -> Any:
        recording = _native.grad_enabled() and any(g is not None and g.requires_grad for g in grads)
        with set_grad_enabled(False):
            results = backward(ctx, *grads)
        if not recording:
            return results
        many = isinstance(results, (tuple, list))
        guarded = []
        for result in results if many else [results]:
            if isinstance(result, Tensor):
                with enable_grad():
                    result = _NotTwice.apply(result.detach().requires_grad_())
            guarded.append(result)
        return tuple(guarded) if many else guarded[0]

    return wrapped


class _NotTwice(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor | None) -> Any:
        raise RuntimeError("backward: this function is marked once_differentiable")
