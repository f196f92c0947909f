"""All parameters as one vector, and back."""

import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn.utils import parameters_to_vector, vector_to_parameters


def test_round_trip():
    layer = nn.Linear(2, 3)
    vector = parameters_to_vector(layer.parameters())
    assert vector.tolist() == layer.weight.flatten().tolist() + layer.bias.tolist()
    vector_to_parameters(tw.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]] and layer.bias.tolist() == [6.0, 7.0, 8.0]


def test_gradients_flow_through_the_vector():
    layer = nn.Linear(2, 1)
    (parameters_to_vector(layer.parameters()) * tw.arange(3.0)).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0, 1.0]] and layer.bias.grad.tolist() == [2.0]


def test_errors():
    with pytest.raises(TypeError, match="tensor"):
        vector_to_parameters([1.0], nn.Linear(1, 1).parameters())
    with pytest.raises(ValueError, match="9 elements are wanted, got 8"):
        vector_to_parameters(tw.ones(8), nn.Linear(2, 3).parameters())
