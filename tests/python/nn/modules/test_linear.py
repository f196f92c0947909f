"""Linear, Bilinear and the lazy form."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn


@pytest.mark.parametrize("bias", [True, False])
def test_linear(bias):
    layer = nn.Linear(3, 2, bias=bias, dtype=tw.float64)
    x = tw.randn(4, 5, 3, dtype=tw.float64)
    expected = x.numpy() @ layer.weight.detach().numpy().T
    if bias:
        expected = expected + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-12)
    assert len(list(layer.parameters())) == 1 + bias


def test_the_first_values_are_bounded_by_the_fan_in():
    layer = nn.Linear(100, 50)
    for parameter in layer.parameters():
        assert 0.09 < parameter.abs().max().item() <= 1 / math.sqrt(100)


def test_bilinear():
    layer = nn.Bilinear(2, 3, 4).double()
    a, b = tw.randn(5, 2, dtype=tw.float64), tw.randn(5, 3, dtype=tw.float64)
    expected = np.einsum("ni,oij,nj->no", a.numpy(), layer.weight.detach().numpy(), b.numpy())
    np.testing.assert_allclose(layer(a, b).detach().numpy(), expected + layer.bias.detach().numpy(), rtol=1e-10)


def test_lazy_linear_becomes_linear_and_keeps_its_parameters():
    layer = nn.LazyLinear(2)
    assert layer.has_uninitialized_params()
    optimizer = tw.optim.SGD(layer.parameters(), lr=1.0)
    layer(tw.ones(1, 3)).sum().backward()
    assert type(layer) is nn.Linear and type(layer.weight) is nn.Parameter and layer.in_features == 3
    before = layer.weight.tolist()
    optimizer.step()
    assert layer.weight.tolist() != before


def test_lazy_linear_takes_its_shape_from_a_state():
    layer, source = nn.LazyLinear(2), nn.Linear(3, 2)
    layer.load_state_dict(source.state_dict())
    x = tw.ones(1, 3)
    assert layer(x).tolist() == source(x).tolist() and type(layer) is nn.Linear


def test_errors():
    with pytest.raises(Exception, match="3"):
        nn.Linear(3, 2)(tw.ones(1, 4))
    with pytest.raises(ValueError, match="positive in1_features"):
        nn.Bilinear(0, 1, 1)
