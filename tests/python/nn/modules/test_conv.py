"""Convolutions: values, padding modes, groups, output sizes, the lazy forms, errors."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def conv1d(x, w, stride=1, dilation=1):
    """Cross-correlation of [N, C, L] with [O, C, K], without padding."""
    reach = dilation * (w.shape[2] - 1) + 1
    steps = range(0, x.shape[2] - reach + 1, stride)
    return np.stack([np.einsum("nck,ock->no", x[:, :, s : s + reach : dilation], w) for s in steps], axis=2)


@pytest.mark.parametrize("mode", list(MODES))
def test_conv1d_in_every_padding_mode(mode):
    layer = nn.Conv1d(2, 3, 3, stride=2, padding=2, dilation=1, padding_mode=mode, dtype=tw.float64)
    x = tw.randn(2, 2, 7, dtype=tw.float64)
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (2, 2)), mode=MODES[mode])
    expected = conv1d(padded, layer.weight.detach().numpy(), stride=2) + layer.bias.detach().numpy()[:, None]
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("mode", ["zeros", "circular"])
def test_same_padding_has_its_larger_half_on_the_right(mode):
    layer = nn.Conv1d(1, 1, 4, padding="same", dilation=3, padding_mode=mode, bias=False, dtype=tw.float64)
    x = tw.randn(1, 1, 12, dtype=tw.float64)
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (4, 5)), mode=MODES[mode])
    expected = conv1d(padded, layer.weight.detach().numpy(), dilation=3)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-10)


def test_groups_are_independent():
    layer = nn.Conv1d(4, 6, 3, groups=2, bias=False, dtype=tw.float64)
    x = tw.randn(1, 4, 8, dtype=tw.float64)
    w = layer.weight.detach().numpy()
    expected = np.concatenate([conv1d(x.numpy()[:, :2], w[:3]), conv1d(x.numpy()[:, 2:], w[3:])], axis=1)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_is_the_transpose(dims):
    options = {"stride": 2, "padding": 1, "bias": False, "dtype": tw.float64}
    forward = getattr(nn, f"Conv{dims}d")(2, 3, 3, **options)
    backward = getattr(nn, f"ConvTranspose{dims}d")(3, 2, 3, **options)
    with tw.no_grad():
        backward.weight.copy_(forward.weight)
    x = tw.randn(1, 2, *(5,) * dims, dtype=tw.float64)
    y = tw.randn(1, 3, *(3,) * dims, dtype=tw.float64)
    left = (forward(x) * y).sum().item()
    assert left == pytest.approx((x * backward(y)).sum().item(), rel=1e-10)


def test_output_size_picks_the_output_padding():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = tw.ones(1, 1, 4, 4)
    assert tuple(layer(x).shape) == (1, 1, 9, 9)
    assert tuple(layer(x, output_size=(10, 9)).shape) == (1, 1, 10, 9)
    assert tuple(layer(x, output_size=(1, 1, 10, 10)).shape) == (1, 1, 10, 10)
    with pytest.raises(ValueError, match=r"from \[9, 9\] to \[10, 10\]"):
        layer(x, output_size=(11, 9))
    with pytest.raises(ValueError, match="2 output sizes"):
        layer(x, output_size=(10,))


@pytest.mark.parametrize(
    "name", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
)
def test_lazy_forms_learn_the_channels(name):
    dims = int(name[-2])
    layer = getattr(nn, "Lazy" + name)(4, 3, padding=1, groups=2)
    y = layer(tw.ones(2, 6, *(5,) * dims))
    assert tuple(y.shape) == (2, 4, *(5,) * dims)
    assert type(layer) is getattr(nn, name) and layer.in_channels == 6
    assert layer.weight.abs().max().item() > 0


def test_without_a_batch():
    assert tuple(nn.Conv2d(1, 2, 3)(tw.ones(1, 5, 5)).shape) == (2, 3, 3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Conv1d(3, 4, 1, groups=2), "groups that divide"),
        (lambda: nn.Conv1d(4, 4, 1, groups=0), "groups that divide"),
        (lambda: nn.Conv1d(1, 1, 1, padding="other"), "'same', 'valid'"),
        (lambda: nn.Conv1d(1, 1, 3, stride=2, padding="same"), "stride 1"),
        (lambda: nn.Conv1d(1, 1, 1, padding_mode="other"), "padding_mode"),
        (lambda: nn.ConvTranspose1d(1, 1, 1, padding_mode="reflect"), "'zeros' is wanted"),
        (lambda: nn.LazyConv1d(4, 3, groups=2)(tw.ones(1, 3, 5)), "groups that divide"),
        (lambda: nn.LazyConv1d(4, 3)(tw.ones(5)), "2 or 3 dims"),
    ],
)
def test_errors(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_repr_leaves_defaults_out():
    assert repr(nn.Conv2d(1, 2, 3)) == "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))"
    assert "padding='same', dilation=(2, 2), bias=False" in repr(
        nn.Conv2d(1, 2, 3, padding="same", dilation=2, bias=False)
    )
