"""How results are compared: values and shapes, within the tolerance of a dtype."""

from typing import Any

import numpy as np
import thalweg as tw

TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 2e-5,
    "float64": 1e-11,
    "complex64": 2e-5,
    "complex128": 1e-11,
}


def to_array(t: Any) -> Any:
    """Tensors as NumPy arrays; half types as float32."""
    if isinstance(t, (tuple, list)):
        return [to_array(item) for item in t]
    if not isinstance(t, tw.Tensor):
        return t
    t = t.detach()
    return t.float().numpy() if t.dtype in (tw.float16, tw.bfloat16) else t.numpy()


def assert_close(got: Any, expected: Any, dtype: str, what: str) -> None:
    """Compares values and shapes within the tolerance of the dtype."""
    if isinstance(got, (tuple, list)):
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_close(g, e, dtype, f"{what}, output {i}")
        return
    expected = np.asarray(to_array(expected))
    got = np.asarray(to_array(got))
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    tolerance = TOLERANCE.get(dtype, 0.0)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=what)
