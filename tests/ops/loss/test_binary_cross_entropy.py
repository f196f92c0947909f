import math

import numpy as np
import thalweg as tw
from harness import Sample, array, check

F = tw.nn.functional


def reference(x, t, weight=1.0):
    return np.mean(-(t * np.log(x) + (1 - t) * np.log(1 - x)) * weight)


def test_values_and_gradients():
    x, t = array((3, 4), 0.1, 0.9), array((3, 4), 0.0, 1.0, seed=1)
    check(F.binary_cross_entropy, reference, [Sample((x, t)), Sample((x, t), {"weight": array((4,), 0.5, 2.0)})])


def test_certain_inputs_have_finite_values_and_gradients():
    x = tw.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    t = tw.tensor([0.0, 1.0, 1.0, 0.0])
    loss = F.binary_cross_entropy(x, t, reduction="none")
    assert loss.tolist() == [0.0, 0.0, 100.0, 100.0]
    assert np.allclose(tw.autograd.grad(loss.sum(), x)[0].numpy(), [0.0, 0.0, -1e12, 1e12])


def test_the_gradient_by_the_target():
    x, t = tw.tensor([0.25, 0.0]), tw.tensor([0.5, 0.5], requires_grad=True)
    loss = F.binary_cross_entropy(x, t, reduction="sum")
    grad = tw.autograd.grad(loss, t)[0].tolist()
    assert math.isclose(grad[0], math.log(3), rel_tol=1e-6) and grad[1] == math.inf
