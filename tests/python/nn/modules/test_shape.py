"""Modules that rearrange."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

X = tw.arange(2.0 * 3 * 4).reshape(2, 3, 4)


def test_identity_flatten_unflatten():
    assert nn.Identity(1, b=2)(X) is X
    assert tuple(nn.Flatten()(X).shape) == (2, 12) and tuple(nn.Flatten(0, 1)(X).shape) == (6, 4)
    assert tuple(nn.Unflatten(2, (2, -1))(X).shape) == (2, 3, 2, 2)
    with pytest.raises(TypeError, match="tuple of ints"):
        nn.Unflatten(1, 3)
    with pytest.raises(TypeError, match="dim must be an int"):
        nn.Unflatten("a", (1, 2))


def test_pixel_shuffle_and_back():
    x = tw.arange(16.0).reshape(1, 4, 2, 2)
    y = nn.PixelShuffle(2)(x)
    expected = x.numpy().reshape(1, 1, 2, 2, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 4, 4)
    np.testing.assert_array_equal(y.numpy(), expected)
    assert nn.PixelUnshuffle(2)(y).tolist() == x.tolist()


def test_channel_shuffle():
    x = tw.arange(6.0).reshape(1, 6, 1)
    assert nn.ChannelShuffle(2)(x).flatten().tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    with pytest.raises(ValueError, match="divisible by 4"):
        nn.ChannelShuffle(4)(x)


def test_unfold_and_fold():
    x = tw.arange(9.0).reshape(1, 1, 3, 3)
    columns = nn.Unfold(2)(x)
    assert columns[0, :, 0].tolist() == [0.0, 1.0, 3.0, 4.0] and tuple(columns.shape) == (1, 4, 4)
    counts = nn.Fold((3, 3), 2)(nn.Unfold(2)(tw.ones(1, 1, 3, 3)))
    assert counts[0, 0].tolist() == [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]


def test_upsample():
    x = tw.tensor([[[[1.0, 3.0], [5.0, 7.0]]]])
    np.testing.assert_array_equal(
        nn.UpsamplingNearest2d(scale_factor=2)(x).numpy()[0, 0], np.kron(x.numpy()[0, 0], np.ones((2, 2)))
    )
    grid = nn.UpsamplingBilinear2d(size=(3, 3))(x)[0, 0]
    assert grid.tolist() == [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [5.0, 6.0, 7.0]]
    line = nn.Upsample(size=4, mode="linear", align_corners=False)(tw.tensor([[[0.0, 4.0]]]))
    assert line.flatten().tolist() == [0.0, 1.0, 3.0, 4.0]
