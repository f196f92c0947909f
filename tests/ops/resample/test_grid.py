import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import NN_FUNCTIONS as F

grid_sample, affine_grid = F["grid_sample"], F["affine_grid"]


def bilinear(x, grid, align_corners=True):
    """With zeros outside, pixel by pixel."""
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    for b, i, j in np.ndindex(n, *grid.shape[1:3]):
        gx, gy = grid[b, i, j]
        px, py = (
            ((gx + 1) / 2 * (w - 1), (gy + 1) / 2 * (h - 1))
            if align_corners
            else (((gx + 1) * w - 1) / 2, ((gy + 1) * h - 1) / 2)
        )
        for y in (int(np.floor(py)), int(np.floor(py)) + 1):
            for z in (int(np.floor(px)), int(np.floor(px)) + 1):
                if 0 <= y < h and 0 <= z < w:
                    out[b, :, i, j] += x[b, :, y, z] * (1 - abs(py - y)) * (1 - abs(px - z))
    return out


def test_bilinear_with_gradients():
    for corners in (True, False):
        check(
            lambda x, g, corners=corners: grid_sample(x, g, align_corners=corners),
            lambda x, g, corners=corners: bilinear(x, g, corners),
            [sample((2, 2, 4, 5), (2, 3, 2, 2), low=-1.3, high=1.3)],
            dtypes=("float64",),
        )


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_the_identity_grid_reads_the_image(mode, padding_mode):
    x = tw.tensor(array((1, 2, 4, 3)))
    theta = tw.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], dtype=tw.float64)
    for corners in (False, True):
        grid = affine_grid(theta, (1, 2, 4, 3), corners)
        np.testing.assert_allclose(grid_sample(x, grid, mode, padding_mode, corners).numpy(), x.numpy(), atol=1e-12)


def test_outside():
    x = tw.tensor([[[[1.0, 2.0, 3.0]]]])
    grid = tw.tensor([[[[-3.0, 0.0], [1.75, 0.0], [float("nan"), 0.0]]]])
    assert grid_sample(x, grid, "nearest", "zeros", True)[0, 0, 0].tolist() == [0.0, 0.0, 0.0]
    assert grid_sample(x, grid[:, :, :2], "nearest", "border", True)[0, 0, 0].tolist() == [1.0, 3.0]
    assert grid_sample(x, grid[:, :, :2], "bilinear", "reflection", True)[0, 0, 0].tolist() == [3.0, 2.25]


def test_volumes():
    x = tw.tensor(array((1, 1, 2, 3, 4)))
    theta = tw.tensor([[[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]], dtype=tw.float64)
    grid = affine_grid(theta, (1, 1, 2, 3, 4), True)
    np.testing.assert_allclose(grid_sample(x, grid, align_corners=True).numpy(), x.numpy(), atol=1e-12)


def test_messages():
    with pytest.raises(RuntimeError, match="grid_sample: an input of 4 or 5 dims"):
        grid_sample(tw.ones(1, 1, 2, 2), tw.ones(1, 2, 2, 3))
    with pytest.raises(ValueError, match="a mode of"):
        grid_sample(tw.ones(1, 1, 2, 2), tw.ones(1, 2, 2, 2), mode="cubic")
