import math

import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_gradients, matrices


def reference(x):
    """By the series, of halved matrices, squared."""
    halvings = 12
    x = x / 2**halvings
    term = result = np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(x.dtype)
    for k in range(1, 12):
        term = term @ x / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result


def test_values_and_gradients():
    samples = [Sample((matrices(3, 3),)), Sample((matrices(5, 2, 2) * 0.1,)), Sample((matrices(2, 1, 1),))]
    check(tw.matrix_exp, reference, samples)
    x = matrices(2, 3, 3, is_complex=True)
    np.testing.assert_allclose(tw.linalg.matrix_exp(tw.tensor(x)).numpy(), reference(x), rtol=1e-10)
    check_gradients(tw.linalg.matrix_exp, x[0])
    assert tw.matrix_exp(tw.zeros(2, 0, 0)).shape == (2, 0, 0)
    check(tw.matrix_exp, reference, [Sample((matrices(2, 2),))], grad=False, dtypes=("float16", "bfloat16"))


@pytest.mark.parametrize("angle", [0.0, 1.0, 40.0])
def test_a_rotation(angle):
    turned = tw.matrix_exp(tw.tensor([[0.0, -angle], [angle, 0.0]], dtype=tw.float64)).numpy()
    expected = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    np.testing.assert_allclose(turned, expected, atol=1e-12)


def test_what_is_not_finite_spreads():
    x = tw.eye(2).repeat(2, 1, 1)
    x[1, 0, 0] = float("nan")
    result = tw.matrix_exp(x)
    assert tw.isnan(result[1]).all() and not tw.isnan(result[0]).any()
    with pytest.raises(RuntimeError, match="square"):
        tw.matrix_exp(tw.ones(2, 3))
