"""Dropout modules: evaluation, how much is dropped, whole channels, statistics, errors."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

NAMES = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


def sample(name):
    dims = {"Dropout1d": 1, "Dropout2d": 2, "Dropout3d": 3}.get(name, 2)
    return tw.ones(50, 40, *(3,) * dims)


@pytest.mark.parametrize("name", NAMES)
def test_evaluation_is_the_identity(name):
    x = sample(name)
    assert (getattr(nn, name)(0.9).eval()(x) == x).all().item()
    with pytest.raises(ValueError, match="probability in"):
        getattr(nn, name)(1.5)


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"])
def test_kept_elements_are_scaled(name):
    tw.manual_seed(0)
    y = getattr(nn, name)(0.25)(sample(name)).numpy()
    assert set(np.unique(y).tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert abs((y == 0).mean() - 0.25) < 0.03
    per_channel = y.reshape(50 * 40, -1)
    whole = (per_channel == per_channel[:, :1]).all()
    assert whole == (name != "Dropout")


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_keeps_mean_and_deviation(name):
    tw.manual_seed(0)
    y = getattr(nn, name)(0.3)(tw.randn(1000, 40, 4))
    assert abs(y.mean().item()) < 0.05 and abs(y.std().item() - 1) < 0.05


def test_the_extremes_and_inplace():
    assert nn.Dropout(1.0)(tw.ones(3)).tolist() == [0.0] * 3
    assert nn.Dropout(0.0)(tw.ones(3)).tolist() == [1.0] * 3
    x = tw.ones(3)
    nn.Dropout(1.0, inplace=True)(x)
    assert x.tolist() == [0.0] * 3
