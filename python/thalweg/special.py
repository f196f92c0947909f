"""Special functions.

>>> import thalweg as tw
>>> tw.special.expit(tw.tensor([0.0]))
tensor([0.5000])
"""

from thalweg._registry import SPECIAL

__all__ = sorted(SPECIAL)

globals().update(SPECIAL)
