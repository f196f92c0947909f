"""How far apart, or how much alike, two tensors of vectors are."""

from __future__ import annotations

from thalweg.nn.modules.function_module import FunctionModule

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(FunctionModule, function="pairwise_distance", p=2.0, eps=1e-6, keepdim=False):
    """‖x1 - x2 + eps‖_p along the last dim: [N, D] or [D] to [N] or a scalar."""


class CosineSimilarity(FunctionModule, function="cosine_similarity", dim=1, eps=1e-8):
    """x1 · x2 / max(‖x1‖ ‖x2‖, eps) along `dim`; the shapes broadcast.

    >>> import thalweg as tw
    >>> tw.nn.CosineSimilarity(dim=0)(tw.tensor([1.0, 0.0]), tw.tensor([0.0, 2.0])).item()
    0.0
    """
