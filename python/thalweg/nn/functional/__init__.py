"""Functions of neural networks: the registered ops and the composites that are exposed here.

>>> import thalweg as tw
>>> tw.nn.functional.gelu(tw.tensor([0.0, 1.0]))
tensor([0.0000, 0.8413])
"""

from thalweg._registry import NN_FUNCTIONS

__all__ = sorted(NN_FUNCTIONS)

globals().update(NN_FUNCTIONS)
