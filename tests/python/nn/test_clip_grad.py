"""Clipping: the norms, the scaling, what is skipped, what counts once."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import utils


def with_grads(*values):
    parameters = [nn.Parameter(tw.zeros(len(v))) for v in values]
    for parameter, value in zip(parameters, values):
        parameter.grad = tw.tensor(value)
    return parameters


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_norm_and_scaling(p):
    grads = [[3.0, -1.0], [4.0]]
    parameters = with_grads(*grads)
    total = utils.clip_grad_norm_(parameters, 0.5, norm_type=p)
    expected = np.linalg.norm([3.0, -1.0, 4.0], p)
    assert total.item() == pytest.approx(expected, rel=1e-6)
    for parameter, grad in zip(parameters, grads):
        np.testing.assert_allclose(parameter.grad.numpy(), np.array(grad) * 0.5 / (expected + 1e-6), rtol=1e-6)


def test_a_small_norm_changes_nothing():
    parameters = with_grads([0.3], [0.4])
    utils.clip_grad_norm_(parameters, 1.0)
    assert [p.grad.item() for p in parameters] == pytest.approx([0.3, 0.4])


def test_missing_gradients_are_skipped_and_shared_ones_count_once():
    (first,) = with_grads([3.0])
    assert utils.clip_grad_norm_([first, nn.Parameter(tw.zeros(1)), first], 10.0).item() == 3.0
    assert utils.clip_grad_norm_([nn.Parameter(tw.zeros(1))], 1.0).item() == 0.0


def test_a_generator_and_a_single_tensor():
    (first,) = with_grads([4.0])
    assert utils.clip_grad_norm_((p for p in [first]), 2.0).item() == 4.0
    assert first.grad.item() == pytest.approx(2.0, rel=1e-5)
    assert utils.clip_grad_norm_(first, 1.0).item() == pytest.approx(2.0, rel=1e-5)


def test_nonfinite_norms_raise_on_request():
    with pytest.raises(ValueError, match="finite"):
        utils.clip_grad_norm_(with_grads([math.inf]), 1.0, error_if_nonfinite=True)


def test_clip_value():
    parameters = with_grads([3.0, -2.0, 0.5])
    utils.clip_grad_value_(parameters, 1.0)
    assert parameters[0].grad.tolist() == [1.0, -1.0, 0.5]
