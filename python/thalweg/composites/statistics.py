"""Differences, sums by the trapezoid rule, covariance, distances between rows."""

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.creation import triu_indices
from thalweg.composites.norms import linalg_vector_norm
from thalweg.composites.support import require_none
from thalweg.frontend.global_creation import beside

__all__ = ["cdist", "corrcoef", "cov", "cumulative_trapezoid", "diff", "pdist", "trapezoid", "trapz"]


@export(function=True, method=True)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The n-th differences of neighbours along dim, with what is prepended and appended to it first."""
    if input.ndim == 0:
        raise RuntimeError("diff: at least one dim is wanted, got a 0-dim tensor")
    if n < 0:
        raise RuntimeError(f"diff: n must not be negative, got {n}")
    parts = [part for part in (prepend, input, append) if part is not None]
    if n == 0:
        return input
    if len(parts) > 1:
        input = ops.cat(parts, dim)
    for _ in range(min(n, input.shape[dim])):
        later, earlier = _neighbours(input, dim)
        input = ops.logical_xor(later, earlier) if input.dtype.itemsize == 1 and _is_bool(input) else later - earlier
    return input


def _is_bool(input: Tensor) -> bool:
    return str(input.dtype).endswith("bool")


def _neighbours(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Everything but the first, everything but the last."""
    size = input.shape[dim]
    count = max(size - 1, 0)
    return input.narrow(dim, min(1, size), count), input.narrow(dim, 0, count)


def _areas(name: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> Tensor:
    if x is not None and dx is not None:
        raise RuntimeError(f"{name}: give x or dx, not both")
    if y.ndim == 0:
        raise IndexError(f"{name}: at least one dim is wanted, got a 0-dim tensor")
    later, earlier = _neighbours(y, dim)
    heights = later + earlier  # twice; the products of integers, too, wrap around before the division
    if x is None:
        return heights / 2.0 * (1.0 if dx is None else dx)
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: x has {x.shape[0]} points, dim {dim} of y has {y.shape[dim]}")
        steps = diff(x)
        return heights * steps.reshape([-1] + [1] * (y.ndim - 1 - dim % y.ndim)) / 2.0
    return heights * diff(x, dim=dim - y.ndim if dim >= 0 else dim) / 2.0


@export(function=True)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral of y along dim by the trapezoid rule, at the points x or dx apart (1 by default)."""
    if x is None and y.ndim and y.shape[dim]:  # all heights but half of the ends
        return (ops.sum(y, dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * (1.0 if dx is None else dx)
    return ops.sum(_areas("trapezoid", y, x, dx, dim), dim)


@export(function=True)
def trapz(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """trapezoid by its old name."""
    return trapezoid(y, x, dx=dx, dim=dim)


@export(function=True)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integrals of y from the first point up to each later one along dim."""
    return ops.cumsum(_areas("cumulative_trapezoid", y, x, dx, dim), dim)


def _weights(name: str, weights: Tensor | None, count: int) -> Tensor | None:
    if weights is None:
        return None
    if list(weights.shape) != [count]:
        raise RuntimeError(f"{name} must have the shape [{count}], got {list(weights.shape)}")
    require_none(weights.detach() < 0, RuntimeError, f"{name} must not be negative")
    return weights


@export(function=True, method=True)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of the rows of input: [variables, observations], or the variance of one variable.

    fweights: how often each observation occurs (integers); aweights: its importance.
    """
    if input.ndim > 2:
        raise RuntimeError(f"cov: at most two dims are wanted, got shape {list(input.shape)}")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    count = rows.shape[1]
    if fweights is not None and (fweights.dtype.is_floating_point or fweights.dtype.is_complex):
        raise RuntimeError(f"cov: fweights must be integers, got {fweights.dtype}")
    if aweights is not None and not aweights.dtype.is_floating_point:
        raise RuntimeError(f"cov: aweights must have a floating dtype, got {aweights.dtype}")
    f, a = _weights("cov: fweights", fweights, count), _weights("cov: aweights", aweights, count)
    w = f if a is None else (a if f is None else f * a)
    if not (rows.dtype.is_floating_point or rows.dtype.is_complex):
        rows = rows / 1
    if w is None:
        centred, norm = rows - ops.mean(rows, 1, True), float(max(count - correction, 0))
        product = ops.matmul(centred, ops.conj(centred.transpose(0, 1)))
        result = product / norm
    else:
        total = ops.sum(w)
        if count and not float(total):
            raise RuntimeError("cov: the weights sum to zero")
        centred = rows - ops.sum(rows * w, 1, True) / total
        norm = total - correction
        if a is not None and correction:
            norm = total - correction * ops.sum(w * a) / total
        norm = ops.clamp(norm, min=0)
        result = ops.matmul(centred * w, ops.conj(centred.transpose(0, 1))) / norm
    return result.reshape([]) if rows.shape[0] == 1 else result


@export(function=True, method=True)
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of the rows of input, in [-1, 1]."""
    matrix = cov(input)
    if matrix.ndim == 0:
        return matrix / matrix
    deviation = ops.sqrt(ops.real(matrix.diagonal()) if matrix.dtype.is_complex else matrix.diagonal())
    matrix = matrix / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if matrix.dtype.is_complex:
        return ops.clamp(ops.real(matrix), min=-1, max=1) + ops.clamp(ops.imag(matrix), min=-1, max=1) * 1j
    return ops.clamp(matrix, min=-1, max=1)


@export(function=True)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distances between all rows of x1 and x2: [..., n, d] and [..., m, d] give [..., n, m].

    The distances are always computed from differences; compute_mode is taken for compatibility.
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"cdist: rows of one length are wanted, got shapes {list(x1.shape)} and {list(x2.shape)}")
    if p < 0:
        raise RuntimeError(f"cdist: p must not be negative, got {p}")
    return linalg_vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@export(function=True, nn=True)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between the rows of a matrix: of row 0 to 1, 2, ..., of row 1 to 2, ....

    >>> import thalweg as tw
    >>> tw.pdist(tw.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist: a matrix is wanted, got a tensor of shape {list(input.shape)}")
    if p < 0:
        raise RuntimeError(f"pdist: a p of 0 or more is wanted, got {p}")
    with beside(input):
        first, second = triu_indices(input.shape[0], input.shape[0], 1)
    return linalg_vector_norm(input[first] - input[second], p, 1)
