"""The modes of the tape: with and without gradients, inference, anomalies."""

from pathlib import Path

import pytest
import thalweg as tw
from leaves import leaf


def test_modes_nest_and_are_put_back_after_an_exception():
    x = leaf(1.0)
    with tw.no_grad():
        assert not (x * 2).requires_grad
        with tw.enable_grad():
            assert (x * 2).requires_grad
        assert not tw.is_grad_enabled()
    with pytest.raises(KeyError), tw.no_grad():
        raise KeyError
    assert tw.is_grad_enabled()
    with tw.set_grad_enabled(False):
        assert not (x * 2).requires_grad


def test_no_grad_decorates_functions():
    x = leaf(1.0)

    @tw.no_grad()
    def double(t):
        return t * 2

    assert not double(x).requires_grad and tw.is_grad_enabled()


def test_inference_tensors_never_join_a_tape():
    x = leaf(2.0)
    with tw.inference_mode():
        y = x * 3
    assert y.is_inference() and not y.requires_grad
    with pytest.raises(RuntimeError, match="inference"):
        y.requires_grad = True
    with pytest.raises(RuntimeError, match="inference"):
        (x * y).sum().backward()  # y would have to be saved
    (x * y.clone()).sum().backward()
    assert x.grad.item() == 6.0


class NanBackward(tw.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


@pytest.mark.parametrize(("make", "name"), [(NanBackward.apply, "NanBackward"), (lambda x: (x * 0).sqrt() * 0, "Sqrt")])
def test_anomaly_mode_names_the_op_and_the_users_line(make, name):
    x = leaf(1.0)
    with tw.autograd.detect_anomaly():
        y = make(x * 2)
        with pytest.raises(RuntimeError, match="nan") as error:
            y.sum().backward()
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])
    assert name in text
    assert Path(__file__).name in text
    assert not tw._core._native.anomaly_enabled()


def test_without_anomaly_mode_nan_passes():
    x = leaf(1.0)
    NanBackward.apply(x).sum().backward()
    assert x.grad.isnan().item()
