import math

import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample, to_tensor
from sharded import check_call
from thalweg._registry import ops

erf = np.vectorize(math.erf, otypes=[float])


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def test_gelu():
    samples = [sample((3, 4)), sample((5,), low=-8, high=8), sample((2, 0)), sample((2, 3), approximate="tanh")]
    check(tw.nn.functional.gelu, gelu, samples, dtypes=("float32", "float64", "bfloat16", "float16"))


def test_error_bound_in_float32():
    # in units of 2^-24 of the result: 6, and 1.25 x^2 more from the rounding of the exponent
    x = np.concatenate([np.linspace(-12.9, 12.9, 400001), np.geomspace(1e-30, 12, 20001)]).astype(np.float32)
    t = tw.tensor(x, requires_grad=True)
    y = tw.nn.functional.gelu(t)
    y.sum().backward()
    wide = x.astype(np.float64)
    tail = 0.5 * np.vectorize(math.erfc, otypes=[float])(np.abs(wide) / math.sqrt(2))
    cdf, slope = np.where(wide < 0, tail, 1 - tail), np.abs(wide) * np.exp(-(wide**2) / 2) / math.sqrt(2 * math.pi)
    unit = 2.0**-24 * (6 + 1.25 * wide**2)
    assert np.all(np.abs(y.detach().numpy() - wide * cdf) <= unit * np.abs(wide * cdf))
    gradient = np.where(wide < 0, tail - slope, 1 - tail + slope)
    assert np.all(np.abs(t.grad.numpy() - gradient) <= unit * (cdf + slope))


@pytest.mark.parametrize("dtype", [tw.float32, tw.float64])
def test_far_from_zero_and_not_a_number(dtype):
    x = tw.tensor([-math.inf, -1e30, -50.0, 50.0, 1e30, math.inf, math.nan], dtype=dtype, requires_grad=True)
    y = tw.nn.functional.gelu(x)
    y.sum().backward()
    far = x.detach().tolist()[3:6]
    assert y.tolist()[:6] == [0.0, 0.0, 0.0, *far] and x.grad.tolist()[:6] == [0.0] * 3 + [1.0] * 3
    assert math.isnan(y.tolist()[6]) and math.isnan(x.grad.tolist()[6])


def test_with_slope():
    """The op that programs run where both are wanted: its two results, and its signatures."""
    for dtype in (tw.float32, tw.float64):
        x = tw.tensor(np.linspace(-6, 6, 41), dtype=dtype, requires_grad=True)
        y = tw.nn.functional.gelu(x)
        y.sum().backward()
        result, slope = ops.gelu_with_slope.on_shard([x.detach()], None, None, None, x.detach())
        np.testing.assert_array_equal(result.numpy(), y.detach().numpy())
        np.testing.assert_allclose(slope.numpy(), x.grad.numpy(), rtol=2e-6, atol=1e-7)
    check_call(ops.gelu_with_slope, [to_tensor(array((4, 6)), "float64")], {}, False)
