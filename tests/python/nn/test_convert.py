"""Module.to and the casts: identity of parameters, which tensors change, gradients, errors."""

import pytest
import thalweg as tw
from thalweg import nn


@pytest.mark.parametrize(
    ("convert", "dtype"),
    [
        (lambda m: m.double(), tw.float64),
        (lambda m: m.half(), tw.float16),
        (lambda m: m.bfloat16(), tw.bfloat16),
        (lambda m: m.double().float(), tw.float32),
        (lambda m: m.to(tw.float64), tw.float64),
        (lambda m: m.to("cpu", tw.float64), tw.float64),
        (lambda m: m.to(tw.zeros(1, dtype=tw.float64)), tw.float64),
        (lambda m: m.to(dtype=tw.float64, device="cpu", non_blocking=True), tw.float64),
    ],
)
def test_floating_tensors_are_cast_in_place(convert, dtype):
    norm = nn.BatchNorm1d(2)
    weight = norm.weight
    assert convert(norm) is norm
    assert norm.weight is weight and weight.dtype == dtype and weight.requires_grad
    assert norm.running_mean.dtype == dtype
    assert norm.num_batches_tracked.dtype == tw.int64


def test_gradients_follow():
    layer = nn.Linear(2, 1)
    layer(tw.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight.grad.dtype == tw.float64
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]
    layer(tw.ones(1, 2, dtype=tw.float64)).sum().backward()
    assert layer.weight.grad.tolist() == [[2.0, 2.0]]


def test_type_casts_integers_too():
    assert nn.BatchNorm1d(2).type(tw.float64).num_batches_tracked.dtype == tw.float64


def test_wrong_arguments():
    with pytest.raises(TypeError, match="floating or complex"):
        nn.Linear(1, 1).to(tw.int64)
    with pytest.raises(TypeError, match="a device, a dtype or a tensor is wanted, got list"):
        nn.Linear(1, 1).to([1])


def test_to_empty_keeps_shapes():
    layer = nn.Linear(2, 3).to_empty(device="cpu")
    assert tuple(layer.weight.shape) == (3, 2) and layer.weight.requires_grad
