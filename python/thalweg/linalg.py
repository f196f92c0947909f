"""Linear algebra: norms and products of matrices, under the names of torch.linalg.

>>> import thalweg as tw
>>> tw.linalg.vector_norm(tw.tensor([3.0, 4.0]))
tensor(5.)
"""

from thalweg._registry import LINALG

__all__ = sorted(LINALG)

globals().update(LINALG)
