"""grad and backward over several tensors."""

from collections.abc import Sequence

from thalweg._core import _native
from thalweg._core._tensor import Tensor

__all__ = ["backward", "grad"]

TensorOrTensors = Tensor | Sequence[Tensor]


def _as_list(tensors: "TensorOrTensors | None") -> list:
    if tensors is None:
        return []
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def grad(
    outputs: TensorOrTensors,
    inputs: TensorOrTensors,
    grad_outputs: TensorOrTensors | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, without touching any .grad.

    Args:
        outputs: one tensor or several.
        inputs: what to differentiate by.
        grad_outputs: gradients flowing into the outputs; may be left out for outputs of one element.
        retain_graph: keep what the tape saved; default create_graph.
        create_graph: record the backward pass, for higher derivatives.
        allow_unused: give None for inputs that the outputs do not depend on, instead of raising.
        materialize_grads: give zeros instead of None.

    Returns:
        A tuple with a gradient for each input.

    Raises:
        RuntimeError: an input does not require grad or was not used.

    >>> import thalweg as tw
    >>> x = tw.tensor(3.0, requires_grad=True)
    >>> (first,) = tw.autograd.grad(x**3, x, create_graph=True)
    >>> tw.autograd.grad(first, x)
    (tensor(18.),)
    """
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched=True is not supported; call grad once for each gradient")
    wanted = _as_list(inputs)
    allow = materialize_grads if allow_unused is None else allow_unused
    retain = create_graph if retain_graph is None else retain_graph
    found = _native.backward(_as_list(outputs), _as_list(grad_outputs), wanted, retain, create_graph, allow, False)
    if materialize_grads:
        found = [g if g is not None else t.detach().new_zeros(t.shape) for g, t in zip(found, wanted, strict=True)]
    return tuple(found)


def backward(
    tensors: TensorOrTensors,
    grad_tensors: TensorOrTensors | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: TensorOrTensors | None = None,
) -> None:
    """Adds the gradients of `tensors` to the .grad of the leaves; see Tensor.backward."""
    retain = create_graph if retain_graph is None else retain_graph
    _native.backward(_as_list(tensors), _as_list(grad_tensors), _as_list(inputs), retain, create_graph, True, True)
