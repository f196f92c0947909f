"""How products of float32 matrices are computed."""

import numpy as np
import pytest
import thalweg as tw


@pytest.fixture(autouse=True)
def default_precision():
    assert tw.get_float32_matmul_precision() == "highest"
    yield
    tw.set_float32_matmul_precision("highest")


def error(product, a, b):
    """The root mean square of the error, in units of what is added up."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.sqrt(np.mean(((product - a @ b) / (np.abs(a) @ np.abs(b))) ** 2))


@pytest.mark.parametrize("level", ["highest", "high", "medium"])
def test_every_level_is_as_exact_as_float32(level):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((256, 384), np.float32), rng.standard_normal((384, 320), np.float32)
    tw.set_float32_matmul_precision(level)
    assert tw.get_float32_matmul_precision() == level
    assert error((tw.from_numpy(a) @ tw.from_numpy(b)).numpy(), a, b) < 2.0**-24


def test_infinities_and_nan_come_through_at_every_level():
    a = tw.ones(256, 256)
    a[3, 5], a[7, 9] = float("inf"), float("nan")
    tw.set_float32_matmul_precision("high")
    product = a @ tw.ones(256, 256)
    assert product[3].isinf().all() and product[7].isnan().all()
    assert product[[0, 4, 255]].tolist() == [[256.0] * 256] * 3


def test_another_level_is_refused():
    with pytest.raises(ValueError, match="highest, high, medium"):
        tw.set_float32_matmul_precision("low")
