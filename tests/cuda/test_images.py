"""Kernels of images where they lie channels-last, in many slices, or in orders and sizes that the op tests lack."""

import numpy as np
import pytest
import thalweg as tw
from against_cpu import make, same
from memory_order import channels_last
from thalweg._registry import ops
from thalweg.nn import functional as F

FORMATS = {4: tw.channels_last, 5: tw.channels_last_3d}


def last(tensor):
    return tensor.to(memory_format=FORMATS[tensor.ndim])


CHANNELS_LAST = {
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool2d, dilated": lambda x: F.max_pool2d(x, 2, dilation=2, ceil_mode=True),
    "avg_pool2d": lambda x: F.avg_pool2d(x, (2, 3), 1, (1, 1), ceil_mode=True, count_include_pad=False),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (3, 2)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "conv2d": lambda x: F.conv2d(x, make((5, 6, 3, 3), seed=1).to(x.device), padding=1),
}


@pytest.mark.parametrize("name", CHANNELS_LAST)
def test_channels_last(name):
    function = CHANNELS_LAST[name]
    same(function, last(make((3, 6, 9, 8))), tolerance=1e-4)
    same(function, last(make((3, 9, 9, 8)))[:, 1:-2], tolerance=1e-4)
    y = function(last(make((3, 6, 9, 8))).cuda())
    assert y.stride() == channels_last(y.shape)


def test_channels_last_in_three_dims():
    same(lambda x: F.max_pool3d(x, 2), last(make((2, 3, 4, 5, 6))))
    same(lambda x: F.avg_pool3d(x, 2), last(make((2, 3, 4, 5, 6))))
    same(lambda x: F.adaptive_avg_pool3d(x, 1), last(make((2, 3, 4, 5, 6))))


def affine(function):
    """The function with the gradients of weight and bias as well, and with gradients that differ."""
    return lambda x, w, b: function(x, w, b) * (x.detach() + 0.5)


@pytest.mark.parametrize("turn", [lambda x: x, last])
@pytest.mark.parametrize("channels", [3, 8, 140])
def test_batch_norm_in_both_orders(turn, channels):
    x = turn(make((4, channels, 6, 10)) + 3)
    norm = affine(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
    same(norm, x, make(channels, seed=1), make(channels, seed=2), tolerance=1e-4)
    same(norm, x.bfloat16(), make(channels, seed=1), make(channels, seed=2), tolerance=3e-2)


@pytest.mark.parametrize("turn", [lambda x: x, last])
def test_batch_norm_in_slices(turn):
    x = turn(make((5, 2, 128, 129)) + 100)  # 82,560 elements a channel, far from 0
    norm = affine(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True))
    same(norm, x, make(2, seed=1), make(2, seed=2), tolerance=1e-3)
    got = ops.batch_norm_train(x.cuda(), None, None, 1e-5)
    wanted = x.double().numpy()
    np.testing.assert_allclose(got[1].cpu().numpy(), wanted.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(got[3].cpu().numpy(), wanted.var((0, 2, 3), ddof=1), rtol=1e-6)


def test_running_statistics_move_alike():
    moved = {}
    for device in ("cpu", "cuda"):
        norm = tw.nn.BatchNorm2d(3).to(device)
        for seed in range(2):
            norm(make((4, 3, 5, 5), seed=seed).to(device))
        norm.eval()
        moved[device] = [norm.running_mean, norm.running_var, norm(make((2, 3, 5, 5)).to(device))]
    for a, b in zip(*moved.values(), strict=True):
        np.testing.assert_allclose(b.detach().cpu().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 8, 5), (2, 8, 7, 31), (2, 8, 30, 40), (1, 4, 64, 66), (5, 8)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups_of_many_lengths(shape, groups):
    norm = affine(lambda x, w, b: F.group_norm(x, groups, w, b))
    same(norm, make(shape) + 2, make(shape[1], seed=1), make(shape[1], seed=2), tolerance=2e-4)


def test_the_mean_of_each_plane():
    same(lambda x: F.adaptive_avg_pool2d(x, 1), make((2, 3, 40, 50)))
    same(lambda x: F.adaptive_avg_pool2d(x, 1), last(make((2, 3, 20, 30))))


def test_unpooling():
    x = make((2, 3, 6, 8))
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    expected = F.max_unpool2d(values, indices, 2)
    got = F.max_unpool2d(values.cuda(), indices.cuda(), 2)
    assert (got.cpu() == expected).all()
    with pytest.raises(IndexError, match="plane_scatter: indices from 0 to 47 are wanted"):
        ops.plane_scatter(values.cuda(), indices.cuda() + 48, [6, 8], False).cpu()
    with pytest.raises(IndexError, match="plane_gather: indices from 0 to 47 are wanted"):
        ops.plane_gather(x.cuda(), indices.cuda() - 48).cpu()


def test_bytes_are_resampled_alike():
    x = (make((2, 3, 7, 9)) * 60 + 120).to(tw.uint8)
    for size, mode in [((5, 12), "bilinear"), ((14, 9), "bicubic"), ((3, 4), "nearest"), ((7, 9), "bilinear")]:
        expected = F.interpolate(x, size, mode=mode)
        assert (F.interpolate(x.cuda(), size, mode=mode).cpu() == expected).all()


CONVOLUTIONS = [
    ((2, 4, 9, 8), (6, 2, 3, 2), {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
    ((2, 3, 8, 8), (4, 3, 1, 1), {"stride": 2}),  # positions at the end that no window has
    ((1, 3, 7, 9), (2, 3, 3, 3), {"dilation": (2, 3), "padding": 2}),
    ((2, 3, 11), (4, 3, 4), {"padding": 3}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"padding": (1, 0, 1), "stride": (1, 2, 2)}),
]


@pytest.mark.parametrize(("x", "w", "options"), CONVOLUTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_convolutions(x, w, options, dtype):
    def run(x, w, b):
        return getattr(F, f"conv{x.ndim - 2}d")(x, w, b, **options)

    tolerance = 5e-2 if dtype == "bfloat16" else 1e-5
    same(run, make(x, dtype), make(w, dtype, 1), make(w[0], dtype, 2), tolerance=tolerance)
    if len(x) > 3:
        same(run, last(make(x, dtype)), last(make(w, dtype, 1)), make(w[0], dtype, 2), tolerance=tolerance)


def test_transposed_convolutions():
    x, w, b = make((2, 4, 5, 4)), make((4, 3, 3, 2), seed=1), make(6, seed=2)
    for options in [
        {"stride": 2, "output_padding": (1, 0)},
        {"padding": 1, "dilation": 2, "output_padding": 1},  # rows that no window reaches
        {"stride": (1, 2), "padding": (0, 1)},
    ]:
        same(lambda x, w, b, o=options: F.conv_transpose2d(x, w, b, groups=2, **o), x, w, b, tolerance=1e-5)


def test_empty_convolutions():
    assert F.conv2d(tw.ones(0, 2, 4, 4, device="cuda"), tw.ones(3, 2, 3, 3, device="cuda")).shape == (0, 3, 2, 2)
    y = F.conv2d(tw.ones(1, 0, 4, 4, device="cuda"), tw.ones(3, 0, 3, 3, device="cuda"), tw.ones(3, device="cuda"))
    assert y.cpu().tolist() == tw.ones(1, 3, 2, 2).tolist()
    with pytest.raises(NotImplementedError, match="convolution: dtype int64 is not supported on CUDA"):
        F.conv2d(tw.ones(1, 1, 2, 2, dtype=tw.int64, device="cuda"), tw.ones(1, 1, 1, 1, dtype=tw.int64, device="cuda"))


def test_columns():
    for options in [{"padding": 1}, {"stride": 2, "dilation": 2}]:
        same(lambda x, o=options: F.unfold(x, (2, 3), **o), make((2, 3, 6, 7)))
        same(lambda x, o=options: F.unfold(x, (2, 3), **o), last(make((2, 3, 6, 7))))
    same(lambda x: F.fold(x, (5, 6), 2, padding=1), make((2, 12, 42)))
