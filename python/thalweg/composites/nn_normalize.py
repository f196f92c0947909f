"""softmax and its kin with PyTorch's implicit dim, and normalize."""

from thalweg._core._tensor import Tensor, dtype
from thalweg._registry import export, ops
from thalweg.composites.norms import linalg_vector_norm

__all__ = ["log_softmax", "normalize", "softmax", "softmin"]


def _implicit_dim(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


@export(nn=True)
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """The exponentials of the elements, scaled so that they sum to 1 along dim."""
    return ops.softmax(input, _implicit_dim(input, dim), dtype)


@export(nn=True)
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """The logarithm of softmax."""
    return ops.log_softmax(input, _implicit_dim(input, dim), dtype)


@export(nn=True)
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """softmax of -input."""
    return ops.softmax(ops.neg(input), _implicit_dim(input, dim), dtype)


@export(nn=True)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input divided by its p-norm along dim, or by eps where that is larger."""
    return input / ops.clamp(linalg_vector_norm(input, p, dim, True), min=eps)
