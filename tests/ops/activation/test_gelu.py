import math

import numpy as np
import thalweg as tw
from harness import check, sample

erf = np.vectorize(math.erf, otypes=[float])


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def test_gelu():
    samples = [sample((3, 4)), sample((5,), low=-8, high=8), sample((2, 0)), sample((2, 3), approximate="tanh")]
    check(tw.nn.functional.gelu, gelu, samples, dtypes=("float32", "float64", "bfloat16", "float16"))
