"""Weight norm."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn.utils import remove_weight_norm, weight_norm


@pytest.mark.parametrize(("dim", "axes"), [(0, (1, 2)), (1, (0, 2)), (-1, (0, 1)), (None, (0, 1, 2))])
def test_length_times_direction(dim, axes):
    layer = nn.Conv1d(3, 4, 2, dtype=tw.float64)
    before, x = layer.weight.detach().numpy().copy(), tw.randn(1, 3, 5, dtype=tw.float64)
    expected = layer(x).tolist()
    weight_norm(layer, dim=dim)
    length = np.sqrt((before**2).sum(axis=axes, keepdims=dim is not None))
    np.testing.assert_allclose(layer.weight_g.detach().numpy(), length, rtol=1e-12)
    np.testing.assert_allclose(layer(x).tolist(), expected, rtol=1e-9)
    with tw.no_grad():
        layer.weight_g.mul_(2)
        layer.weight_v.mul_(7)
    layer(x).sum().backward()
    np.testing.assert_allclose(layer.weight.detach().numpy(), 2 * before, rtol=1e-9)
    # The gradient of v has no part along v, whose length does not matter.
    along = (layer.weight_v.grad * layer.weight_v).detach().numpy().sum(axis=axes)
    np.testing.assert_allclose(along, 0, atol=1e-9)


def test_remove_and_errors():
    layer = weight_norm(nn.Linear(3, 2))
    assert sorted(dict(layer.named_parameters())) == ["bias", "weight_g", "weight_v"]
    with pytest.raises(ValueError, match="already"):
        weight_norm(layer)
    weight = layer.weight.tolist()
    remove_weight_norm(layer)
    assert sorted(dict(layer.named_parameters())) == ["bias", "weight"] and layer.weight.tolist() == weight
    with pytest.raises(ValueError, match="plain parameter"):
        remove_weight_norm(layer)
