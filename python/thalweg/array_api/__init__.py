"""The namespace of the Python array API standard (2024.12) over thalweg's functions.

>>> import thalweg as tw
>>> xp = tw.tensor([3.0, 1.0]).__array_namespace__()
>>> xp.concat([xp.ones(1), xp.zeros(1)])
tensor([1., 0.])

Names that thalweg spells alike are its own functions. What differs (parameters, results, names) is in `functions`,
`searching` and `info`. Left out: functions of data types that thalweg lacks.
"""

import math

import thalweg as tw
from thalweg._registry import FUNCTIONS
from thalweg.array_api.functions import *  # noqa: F403
from thalweg.array_api.functions import __all__ as _own
from thalweg.array_api.info import __array_namespace_info__ as __array_namespace_info__
from thalweg.array_api.searching import *  # noqa: F403
from thalweg.array_api.searching import __all__ as _searching

__array_api_version__ = "2024.12"

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
bool, int8, int16, int32, int64, uint8 = tw.bool, tw.int8, tw.int16, tw.int32, tw.int64, tw.uint8  # noqa: A001
float32, float64, complex64, complex128 = tw.float32, tw.float64, tw.complex64, tw.complex128
finfo, iinfo = tw.finfo, tw.iinfo

# standard name: thalweg's name, where both mean the same
SAME = {name: name for name in (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift"
    " bitwise_xor ceil conj copysign cos cosh exp expm1 floor hypot imag isfinite isinf isnan log log10 log1p"
    " log2"
    " logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter positive"
    " real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc divide"
    " floor_divide"
    " broadcast_to broadcast_tensors stack roll tile unstack"
    " empty empty_like eye full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like"
    " matmul tensordot arange from_dlpack where isin"
).split()} | {
    "bitwise_invert": "bitwise_not", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "pow": "pow", "unstack": "unbind", "broadcast_arrays": "broadcast_tensors",
    "asarray": "asarray",
}  # fmt: skip


def _collect() -> list[str]:
    offered = []
    for name, ours in SAME.items():
        if name not in globals() and ours in FUNCTIONS:
            globals()[name] = FUNCTIONS[ours]
            offered.append(name)
    return offered


__all__ = sorted(
    {*_own, *_searching, *_collect(), "__array_api_version__", "__array_namespace_info__"}
    | set("e inf nan pi newaxis bool int8 int16 int32 int64 uint8".split())
    | set("float32 float64 complex64 complex128 finfo iinfo".split())
)
