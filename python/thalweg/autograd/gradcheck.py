"""Checks gradients against finite differences."""

from collections.abc import Callable, Sequence
from itertools import product

from thalweg._core._tensor import Tensor
from thalweg.autograd.functional import grad
from thalweg.autograd.modes import enable_grad, no_grad

__all__ = ["gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient that differs from finite differences."""


def _outputs(function: Callable, inputs: Sequence) -> list[Tensor]:
    found = function(*inputs)
    found = [found] if isinstance(found, Tensor) else list(found)
    return [t for t in found if isinstance(t, Tensor) and (t.dtype.is_floating_point or t.dtype.is_complex)]


def _numerical(function: Callable, inputs: Sequence, of: Tensor, weights: list[Tensor], eps: float) -> Tensor:
    """d/d`of` of the weighted sum of all outputs, by central differences."""
    data = of.data
    if any(stride == 0 and size > 1 for stride, size in zip(of.stride(), of.shape, strict=True)):
        raise ValueError("gradcheck: inputs must not be expanded")
    result = of.detach().clone()
    steps = [eps, eps * 1j] if of.dtype.is_complex else [eps]

    def weighted() -> float:
        with no_grad():
            return sum(
                (w.conj() * o).sum().real.item() if o.dtype.is_complex else (w * o).sum().item()
                for w, o in zip(weights, _outputs(function, inputs), strict=True)
            )

    for at in product(*map(range, of.shape)):
        before = data[at].item()
        slope: complex = 0.0
        for step in steps:
            data[at] = before + step
            up = weighted()
            data[at] = before - step
            down = weighted()
            slope += (up - down) / (2 * eps) * (step / eps)
        data[at] = before
        result[at] = slope
    return result


def gradcheck(
    func: Callable,
    inputs: Tensor | Sequence,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compares the gradients of func with central differences, for a fixed random weighting of its outputs.

    Args:
        func: takes the inputs, returns a tensor or several.
        inputs: tensors of float64 that require grad, among other arguments.
        eps: step of the differences.
        atol, rtol: what may differ.

    Raises:
        RuntimeError: a gradient differs (or returns False, without raise_exception).

    >>> import thalweg as tw
    >>> x = tw.rand(3, dtype=tw.float64, requires_grad=True)
    >>> tw.autograd.gradcheck(tw.sin, (x,))
    True
    """
    arguments = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    wanted = [t for t in arguments if isinstance(t, Tensor) and t.requires_grad]
    if not wanted:
        raise ValueError("gradcheck: no input requires grad")
    outputs = _outputs(func, arguments)
    weights = [_weights(o) for o in outputs]
    analytic = grad(
        [o for o in outputs if o.requires_grad],
        wanted,
        [w for o, w in zip(outputs, weights, strict=True) if o.requires_grad],
        allow_unused=True,
    )
    for number, (tensor, found) in enumerate(zip(wanted, analytic, strict=True)):
        expected = _numerical(func, arguments, tensor, weights, eps)
        found = tensor.detach() * 0 if found is None else found
        difference = (found - expected).abs()
        if (difference > atol + rtol * expected.abs()).any():
            if not raise_exception:
                return False
            raise GradcheckError(
                f"gradcheck: the gradient of input {number} differs from finite differences by up to "
                f"{difference.max().item():g}\nanalytic: {found}\nnumerical: {expected}"
            )
    return True


def _weights(output: Tensor) -> Tensor:
    """Fixed weights without pattern, so that errors do not cancel."""
    flat = output.detach().reshape(-1) * 0
    for i in range(flat.numel()):
        flat[i] = ((i * 0.6180339887498949 + 0.3) % 1.0) - 0.5
    return flat.reshape(output.shape)


def gradgradcheck(
    func: Callable,
    inputs: Tensor | Sequence,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """The same for the second derivatives: checks the gradient of the gradient."""
    arguments = [inputs] if isinstance(inputs, Tensor) else list(inputs)

    def first(*args: object) -> tuple:
        wanted = [t for t in args if isinstance(t, Tensor) and t.requires_grad]
        with enable_grad():  # the differences are taken without a tape of their own
            outputs = [o for o in _outputs(func, args) if o.requires_grad]
            found = grad(outputs, wanted, [_weights(o) for o in outputs], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    if not first(*arguments):
        return True
    return gradcheck(first, arguments, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
