import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import NN_FUNCTIONS as F

interpolate = F["interpolate"]


def weights(size, out, mode, corners):
    """The matrix [out, size] that resamples one dim."""
    result = np.zeros((out, size))
    for o in range(out):
        if mode == "nearest":
            result[o, o * size // out] = 1
            continue
        at = o * (size - 1) / max(out - 1, 1) if corners else (o + 0.5) * size / out - 0.5
        if mode == "linear":
            at = max(at, 0)
            left = int(at)
            result[o, left] += 1 - (at - left)
            result[o, min(left + 1, size - 1)] += at - left
        else:
            left, a = int(np.floor(at)), -0.75
            for i in range(-1, 3):
                d = abs(at - left - i)
                inner, outer = (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
                result[o, min(max(left + i, 0), size - 1)] += inner if d <= 1 else outer
    return result


def reference(x, size, mode, align_corners=None):
    kind = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    for dim, out in enumerate(size, 2):
        x = np.moveaxis(np.moveaxis(x, dim, -1) @ weights(x.shape[dim], out, kind, align_corners).T, -1, dim)
    return x


def sized(x, size, **options):
    return interpolate(x, size, **options)


def test_modes():
    check(sized, reference, [sample((2, 3, 5), [8], mode="nearest"), sample((1, 2, 5), [3], mode="linear")])
    samples = [
        sample((1, 2, 5, 4), [7, 3], mode=m, align_corners=c) for m in ("bilinear", "bicubic") for c in (False, True)
    ]
    check(sized, reference, samples)
    check(sized, reference, [sample((1, 1, 3, 2, 4), [2, 4, 5], mode="trilinear", align_corners=True)])


def test_scale_factor_and_area():
    x = tw.tensor(array((1, 2, 6, 4)))
    assert tuple(interpolate(x, scale_factor=(0.5, 2)).shape) == (1, 2, 3, 8)
    np.testing.assert_allclose(
        interpolate(x, scale_factor=0.5, mode="area").numpy(), x.numpy().reshape(1, 2, 3, 2, 2, 2).mean((3, 5))
    )
    assert interpolate(tw.tensor([[[0.0, 1.0, 2.0]]]), size=2, mode="nearest-exact").tolist() == [[[0.0, 2.0]]]
    assert F["upsample"](x, scale_factor=2).shape == F["upsample_nearest"](x, scale_factor=2).shape
    np.testing.assert_allclose(
        F["upsample_bilinear"](x, size=(3, 3)).numpy(), reference(x.numpy(), (3, 3), "bilinear", True)
    )


def test_messages():
    with pytest.raises(ValueError, match="one of size and scale_factor"):
        interpolate(tw.ones(1, 1, 4))
    with pytest.raises(NotImplementedError, match="mode 'bilinear' wants 4 dims, got 3"):
        interpolate(tw.ones(1, 1, 4), 2, mode="bilinear")


def test_shuffles():
    x = tw.tensor(array((2, 8, 3, 2)))
    wide = F["pixel_shuffle"](x, 2)
    expected = x.numpy().reshape(2, 2, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 4)
    np.testing.assert_array_equal(wide.numpy(), expected)
    np.testing.assert_array_equal(F["pixel_unshuffle"](wide, 2).numpy(), x.numpy())
    assert F["channel_shuffle"](tw.tensor([[[0.0], [1.0], [2.0], [3.0]]]), 2).tolist() == [[[0.0], [2.0], [1.0], [3.0]]]


@pytest.mark.parametrize(
    ("mode", "smaller", "larger"),
    [
        (
            "bilinear",
            [[23, 108, 173, 99, 59, 38], [68, 58, 79, 208, 137, 33]],
            [[0, 148, 7], [45, 125, 68], [90, 102, 129], [75, 130, 65], [60, 158, 1]],
        ),
        (
            "bicubic",
            [[24, 120, 194, 98, 45, 35], [72, 35, 70, 235, 161, 32]],
            [[0, 175, 7], [48, 130, 80], [90, 100, 129], [83, 133, 76], [60, 181, 1]],
        ),
    ],
)
def test_bytes_are_rounded_after_each_dim(mode, smaller, larger):
    """Numbers of PyTorch 2.13; a batch of two and strides change nothing."""
    x = tw.tensor([[0, 255, 40, 7], [90, 3, 200, 129], [60, 61, 254, 1]], dtype=tw.uint8)
    x = tw.stack([x, x, x], -1).permute(2, 0, 1).unsqueeze(0).expand(2, 3, 3, 4)
    for size, corners, expected in (((2, 6), False, smaller), ((5, 3), True, larger)):
        got = F["interpolate"](x, size, mode=mode, align_corners=corners)
        assert got.tolist() == [[expected] * 3] * 2


def antialiased(x, size, mode):
    """Each new pixel as a weighted sum, the filter as wide as `ratio` old pixels; a naive form."""
    filters = {
        "bilinear": lambda d: max(1 - d, 0),
        "bicubic": lambda d: 1.5 * d**3 - 2.5 * d**2 + 1 if d < 1 else max(2 - d, 0) * (d - 1) * (d - 2) / 2,
    }
    for dim, out in enumerate(size, 2):
        ratio = x.shape[dim] / out
        centres = (np.arange(out) + 0.5) * ratio
        distance = np.abs(centres[:, None] - np.arange(x.shape[dim]) - 0.5) / max(ratio, 1)
        matrix = np.vectorize(filters[mode])(distance)
        matrix /= matrix.sum(1, keepdims=True)
        x = np.moveaxis(np.moveaxis(x, dim, -1) @ matrix.T, -1, dim)
    return x


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialias(mode):
    def ours(x, size):
        return interpolate(x, size, mode=mode, antialias=True)

    check(
        ours, lambda x, size: antialiased(x, size, mode), [sample((2, 2, 8, 6), [3, 4]), sample((1, 1, 5, 5), [9, 2])]
    )


def test_antialias_is_for_two_modes():
    with pytest.raises(ValueError, match="bilinear and bicubic"):
        interpolate(tw.ones(1, 1, 4, 4), 2, mode="nearest", antialias=True)
    with pytest.raises(TypeError, match="floating"):
        interpolate(tw.ones(1, 1, 4, 4, dtype=tw.uint8), 2, mode="bilinear", antialias=True)
