"""Spectral norm."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn.utils import remove_spectral_norm, spectral_norm


@pytest.mark.parametrize(
    ("make", "x", "dim"),
    [(lambda: nn.Linear(3, 5), tw.ones(1, 3), 0), (lambda: nn.ConvTranspose1d(3, 5, 2), tw.ones(1, 3, 4), 1)],
)
def test_the_largest_singular_value_becomes_one(make, x, dim):
    layer = make().double()
    matrix = np.moveaxis(layer.weight.detach().numpy(), dim, 0).reshape(5, -1)
    spectral_norm(layer, n_power_iterations=200)
    layer(x.double())
    got = np.moveaxis(layer.weight.detach().numpy(), dim, 0).reshape(5, -1)
    np.testing.assert_allclose(got, matrix / np.linalg.svd(matrix)[1][0], rtol=1e-6)


def test_only_training_iterates():
    layer = spectral_norm(nn.Linear(4, 4)).eval()
    u = layer.weight_u.tolist()
    layer(tw.ones(1, 4))
    assert layer.weight_u.tolist() == u
    layer.train()(tw.ones(1, 4))
    assert layer.weight_u.tolist() != u


def test_two_forwards_before_one_backward():
    layer = spectral_norm(nn.Linear(4, 4))
    (layer(tw.ones(1, 4)) + layer(tw.ones(1, 4))).sum().backward()
    assert layer.weight_orig.grad.abs().sum().item() > 0


def test_remove_and_errors():
    layer = spectral_norm(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="already"):
        spectral_norm(layer)
    layer(tw.ones(1, 3))
    weight = layer.weight.detach()
    remove_spectral_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight.numpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="plain parameter"):
        remove_spectral_norm(layer)
    with pytest.raises(ValueError, match="positive"):
        spectral_norm(layer, n_power_iterations=0)
