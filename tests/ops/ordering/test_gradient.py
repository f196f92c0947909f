import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample


@pytest.mark.parametrize("edge_order", [1, 2])
def test_even_distances(edge_order):
    def reference(x, spacing=1, dim=None):
        found = np.gradient(x, spacing, axis=dim, edge_order=edge_order)
        return found if isinstance(found, (list, tuple)) else [found]

    samples = [sample((5,)), sample((3, 4)), sample((3, 4), spacing=0.5, dim=1), sample((3, 3, 4), dim=(0, 2))]
    check(lambda x, **k: tw.gradient(x, edge_order=edge_order, **k), reference, samples)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_uneven_distances(edge_order):
    rows, columns = np.array([0.0, 0.5, 2.0]), np.array([-1.0, 0.0, 3.0, 3.5])
    expected = np.gradient(array((3, 4)), rows, columns, edge_order=edge_order)
    spacing = [tw.tensor(rows), tw.tensor(columns)]
    got = tw.gradient(tw.tensor(array((3, 4))), spacing=spacing, edge_order=edge_order)
    for result, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-12)


def test_errors():
    with pytest.raises(RuntimeError, match="gradient: more than 2 samples are wanted along dim 1, got 2"):
        tw.gradient(tw.ones(3, 2), edge_order=2)
    with pytest.raises(RuntimeError, match="gradient: 2 spacings are wanted, one for each dim, got 1"):
        tw.gradient(tw.ones(3, 3), spacing=[1.0])
    with pytest.raises(RuntimeError, match="gradient: 3 coordinates are wanted"):
        tw.gradient(tw.ones(3), spacing=[tw.ones(2)])
