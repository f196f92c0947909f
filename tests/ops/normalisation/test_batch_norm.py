import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample

F = tw.nn.functional


def batch_norm(x, weight=None, bias=None, eps=1e-5):
    dims = (0, *range(2, x.ndim))
    shape = [1, -1] + [1] * (x.ndim - 2)
    y = (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def train(x, weight=None, bias=None):
    return F.batch_norm(x, None, None, weight, bias, True)


def test_training():
    samples = [
        sample((4, 3), (3,), (3,)),
        sample((2, 3, 4), (3,), None),
        sample((2, 3, 2, 3)),
        sample((3, 70), None, (70,)),
    ]
    check(train, batch_norm, samples)


def test_long_planes():
    x = array((3, 2, 5000)).astype(np.float32)
    np.testing.assert_allclose(train(tw.tensor(x)).numpy(), batch_norm(x.astype(np.float64)), rtol=1e-4, atol=1e-5)


def test_running_statistics():
    x = array((5, 3, 4))
    mean, var = tw.zeros(3, dtype=tw.float64), tw.ones(3, dtype=tw.float64)
    F.batch_norm(tw.tensor(x), mean, var, training=True, momentum=0.3)
    np.testing.assert_allclose(mean.numpy(), 0.3 * x.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.7 + 0.3 * x.var((0, 2), ddof=1))
    before = mean.clone()
    y = F.batch_norm(tw.tensor(x), mean, var, eps=0.1)
    expected = (x - mean.numpy()[:, None]) / np.sqrt(var.numpy()[:, None] + 0.1)
    np.testing.assert_allclose(y.numpy(), expected)
    assert (mean == before).all()


def test_evaluation_has_gradients():
    def evaluate(x, weight, bias):
        return F.batch_norm(x, x.new_full((3,), 0.5), x.new_full((3,), 2.0), weight, bias)

    def reference(x, weight, bias):
        return (x - 0.5) / np.sqrt(2 + 1e-5) * weight[:, None] + bias[:, None]

    check(evaluate, reference, [sample((2, 3, 4), (3,), (3,))])
    assert (
        tw.batch_norm(tw.ones(2, 3), None, None, tw.zeros(3), tw.ones(3), False, 0.1, 0.0).tolist() == [[1.0] * 3] * 2
    )


def test_errors():
    with pytest.raises(ValueError, match="more than one value"):
        F.batch_norm(tw.ones(1, 3), tw.zeros(3), tw.ones(3), training=True)
    with pytest.raises(RuntimeError, match="running_mean"):
        F.batch_norm(tw.ones(2, 3), None, None)


def test_evaluation_of_half_types_in_float32():
    x, weight, bias = tw.arange(1, 7).reshape(3, 2).half(), tw.tensor([0.77, 1.3]).half(), tw.tensor([0.1, 0.2]).half()
    mean, var = tw.tensor([0.3, 0.7]).half(), tw.tensor([1.1, 0.9]).half()
    got = F.batch_norm(x, mean, var, weight, bias, eps=1e-3)
    expected = [[0.61376953125, 1.9794921875], [2.08203125, 4.71875], [3.548828125, 7.45703125]]
    assert got.tolist() == expected


def test_an_empty_batch_moves_no_statistics():
    mean, var, weight = tw.zeros(5), tw.ones(5), tw.ones(5, requires_grad=True)
    got = F.batch_norm(tw.zeros(0, 5, 9), mean, var, weight, tw.zeros(5), training=True)
    assert got.shape == (0, 5, 9) and mean.tolist() == [0.0] * 5 and var.tolist() == [1.0] * 5
    assert tw.autograd.grad(got.sum(), weight)[0].tolist() == [0.0] * 5


@pytest.mark.parametrize(("eps", "training"), [(-1.0, True), (0.0, True), (-1.0, False)])
def test_eps_keeps_the_variance_from_zero(eps, training):
    with pytest.raises(ValueError, match="batch_norm: eps"):
        F.batch_norm(tw.ones(2, 3), tw.zeros(3), tw.ones(3), training=training, eps=eps)
