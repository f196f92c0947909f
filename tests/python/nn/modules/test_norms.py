"""Normalisation modules: values in training and evaluation, running statistics, options, errors."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn


def normalize(x, axes, eps=1e-5):
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def data(*shape):
    return tw.randn(*shape, dtype=tw.float64) * 3 + 1


def check(module, x, expected):
    np.testing.assert_allclose(module(x).detach().numpy(), expected, rtol=1e-9, atol=1e-12)


def test_layer_norm():
    x = data(4, 3, 5)
    check(nn.LayerNorm(5, dtype=tw.float64), x, normalize(x.numpy(), 2))
    layer = nn.LayerNorm((3, 5), eps=0.1, dtype=tw.float64)
    with tw.no_grad():
        layer.weight.fill_(2)
        layer.bias.fill_(1)
    check(layer, x, 2 * normalize(x.numpy(), (1, 2), 0.1) + 1)
    assert nn.LayerNorm(5, bias=False).bias is None and nn.LayerNorm(5, elementwise_affine=False).weight is None


def test_rms_norm():
    x = data(4, 5)
    check(
        nn.RMSNorm(5, eps=0.1, dtype=tw.float64), x, x.numpy() / np.sqrt((x.numpy() ** 2).mean(1, keepdims=True) + 0.1)
    )


def test_group_norm():
    x = data(2, 4, 3)
    expected = normalize(x.numpy().reshape(2, 2, 6), 2).reshape(2, 4, 3)
    check(nn.GroupNorm(2, 4, dtype=tw.float64), x, expected)


def test_local_response_norm():
    x = data(1, 3, 2)
    squares = np.pad(x.numpy() ** 2, ((0, 0), (1, 1), (0, 0)))
    mean = (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]) / 3
    check(nn.LocalResponseNorm(3, alpha=0.5, beta=0.7, k=2.0), x, x.numpy() / (2 + 0.5 * mean) ** 0.7)


@pytest.mark.parametrize(
    ("name", "shape"), [("1d", (6, 3)), ("1d", (4, 3, 5)), ("2d", (4, 3, 2, 2)), ("3d", (2, 3, 2, 2, 2))]
)
def test_batch_norm(name, shape):
    norm, x = getattr(nn, f"BatchNorm{name}")(3).double(), data(*shape)
    axes = tuple(i for i in range(len(shape)) if i != 1)
    check(norm, x, normalize(x.numpy(), axes))
    mean, var = x.numpy().mean(axis=axes), x.numpy().var(axis=axes, ddof=1)
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.1 * mean, rtol=1e-9)
    np.testing.assert_allclose(norm.running_var.numpy(), 0.9 + 0.1 * var, rtol=1e-9)
    assert norm.num_batches_tracked.item() == 1
    per_channel = (1, 3) + (1,) * (len(shape) - 2)
    expected = (x.numpy() - 0.1 * mean.reshape(per_channel)) / np.sqrt((0.9 + 0.1 * var).reshape(per_channel) + 1e-5)
    check(norm.eval(), x, expected)
    assert norm.num_batches_tracked.item() == 1


def test_batch_norm_with_the_plain_average():
    norm = nn.BatchNorm1d(1, momentum=None)
    for value in (2.0, 4.0, 9.0):
        norm(tw.tensor([[value], [value]]))
    assert norm.running_mean.item() == pytest.approx(5.0)


def test_batch_norm_without_running_statistics():
    norm, x = nn.BatchNorm1d(2, track_running_stats=False, affine=False).eval(), data(5, 2)
    assert norm.running_mean is None and norm.weight is None
    check(norm, x, normalize(x.numpy(), 0))


def test_reset_parameters():
    norm = nn.BatchNorm1d(1)
    norm(tw.tensor([[1.0], [3.0]]))
    norm.reset_parameters()
    assert norm.running_mean.item() == 0 and norm.running_var.item() == 1 and norm.num_batches_tracked.item() == 0


@pytest.mark.parametrize(("name", "shape"), [("1d", (4, 3, 5)), ("2d", (4, 3, 2, 2)), ("3d", (2, 3, 2, 2, 2))])
def test_instance_norm(name, shape):
    norm, x = getattr(nn, f"InstanceNorm{name}")(3), data(*shape)
    expected = normalize(x.numpy(), tuple(range(2, len(shape))))
    check(norm, x, expected)
    check(norm.eval(), x[0], expected[0])
    assert list(norm.state_dict()) == []


def test_instance_norm_with_running_statistics():
    norm, x = nn.InstanceNorm1d(2, affine=True, track_running_stats=True).double(), data(3, 2, 4)
    norm(x)
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.1 * x.numpy().mean(axis=(0, 2)), rtol=1e-9)
    scale = np.sqrt(norm.running_var.numpy() + 1e-5)[:, None]
    check(norm.eval(), x, (x.numpy() - norm.running_mean.numpy()[:, None]) / scale)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.BatchNorm2d(3)(tw.ones(2, 3)), "4 dims are wanted, got 2"),
        (lambda: nn.BatchNorm1d(3)(tw.ones(2, 3, 4, 5)), "2 or 3 dims are wanted, got 4"),
        (lambda: nn.InstanceNorm2d(3, affine=True)(tw.ones(2, 4, 2, 2)), "3 channels are wanted, got 4"),
        (lambda: nn.GroupNorm(2, 3), "divide 3 channels"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()
