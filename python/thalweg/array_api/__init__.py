"""The namespace of the Python array API standard (2024.12) over thalweg's functions.

>>> import thalweg as tw
>>> xp = tw.tensor([3.0, 1.0]).__array_namespace__()
>>> xp.concat([xp.ones(1), xp.zeros(1)])
tensor([1., 0.])

Every function of the standard's main namespace is here under the standard's signature. What departs from it:

- uint16, uint32 and uint64 are not among thalweg's dtypes; sums and products of uint8 are int64.
- Tensors are PyTorch's: `x.size()` is a method (`x.numel()` counts elements), slices step forwards only (use `flip`),
  and `x + y` of a 0-dim and another array of one kind takes the other's dtype. The functions here promote by dtypes
  alone, as the standard says.
- Of the extensions `linalg` is offered, `fft` is not.
"""

import math

import thalweg as tw
from thalweg.array_api import creation, dtypes, elementwise, manipulation, reductions, searching
from thalweg.array_api import linalg as linalg
from thalweg.array_api.creation import *  # noqa: F403
from thalweg.array_api.dtypes import *  # noqa: F403
from thalweg.array_api.elementwise import *  # noqa: F403
from thalweg.array_api.info import __array_namespace_info__ as __array_namespace_info__
from thalweg.array_api.manipulation import *  # noqa: F403
from thalweg.array_api.reductions import *  # noqa: F403
from thalweg.array_api.searching import *  # noqa: F403

__array_api_version__ = "2024.12"

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
bool, int8, int16, int32, int64, uint8 = tw.bool, tw.int8, tw.int16, tw.int32, tw.int64, tw.uint8  # noqa: A001
float32, float64, complex64, complex128 = tw.float32, tw.float64, tw.complex64, tw.complex128

__all__ = sorted(
    {name for part in (creation, dtypes, elementwise, manipulation, reductions, searching) for name in part.__all__}
    | {"__array_api_version__", "__array_namespace_info__", "e", "inf", "nan", "pi", "newaxis", "bool", "linalg"}
    | set("int8 int16 int32 int64 uint8 float32 float64 complex64 complex128".split())
)
