import numpy as np
import pytest
import thalweg as tw

VALUES = np.array([0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"])
def test_predicates(name):
    expected = getattr(np, name)(VALUES)
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        result = getattr(tw.tensor(VALUES).to(getattr(tw, dtype)), name)()
        np.testing.assert_array_equal(result.numpy(), expected)
    ints = np.array([-3, 0, 4])
    np.testing.assert_array_equal(getattr(tw, name)(tw.tensor(ints)).numpy(), getattr(np, name)(ints.astype(float)))


def test_complex():
    z = np.array([1 + 1j, np.nan + 1j, 1 + np.inf * 1j])
    for name in ("isnan", "isinf", "isfinite"):
        np.testing.assert_array_equal(getattr(tw, name)(tw.tensor(z)).numpy(), getattr(np, name)(z))
