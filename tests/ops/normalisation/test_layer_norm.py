import numpy as np
import pytest
import thalweg as tw
from harness import check, sample

F = tw.nn.functional


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    dims = tuple(range(-len(shape), 0))
    y = (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


EPS = np.finfo(np.float64).eps


def rms_norm(x, shape, weight=None, eps=EPS):
    y = x / np.sqrt((x * x).mean(tuple(range(-len(shape), 0)), keepdims=True) + eps)
    return y if weight is None else y * weight


def test_layer_norm():
    samples = [
        sample((3, 5), [5], (5,), (5,)),
        sample((3, 5), [5]),
        sample((2, 3, 4), [3, 4], (3, 4), None),
        sample((2, 3, 4), [4], None, (4,), 1e-3),
        sample((2, 3), [2, 3], (2, 3), (2, 3)),
        sample((0, 4), [4]),
    ]
    check(F.layer_norm, layer_norm, samples, dtypes=("float32", "float64"))


def test_rms_norm():
    samples = [sample((3, 5), [5], (5,)), sample((2, 3, 4), [3, 4], None, 1e-3)]
    check(F.rms_norm, rms_norm, samples)


def test_long_rows_and_many_rows():
    rng = np.random.default_rng(0)
    x, w, g = rng.normal(size=(700, 130)) + 50, rng.normal(size=130), rng.normal(size=(700, 130))
    t = [tw.tensor(v.astype(np.float32), requires_grad=True) for v in (x, w, np.zeros(130))]
    F.layer_norm(t[0], [130], t[1], t[2]).backward(tw.tensor(g.astype(np.float32)))
    xhat = layer_norm(x, [130])
    np.testing.assert_allclose(t[1].grad.numpy(), (g * xhat).sum(0), rtol=2e-4, atol=2e-3)
    np.testing.assert_allclose(t[2].grad.numpy(), g.sum(0), rtol=1e-4, atol=1e-4)


def test_threads_do_not_change_gradients():
    x = tw.tensor(np.random.default_rng(0).normal(size=(999, 64)).astype(np.float32))
    results, before = [], tw.get_num_threads()
    for count in (1, 2):
        tw.set_num_threads(count)
        w = tw.ones(64, requires_grad=True)
        (F.layer_norm(x, [64], w) * x).sum().backward()
        results.append(w.grad.numpy())
    tw.set_num_threads(before)
    np.testing.assert_array_equal(*results)


def test_large_means_and_rows_of_many_lengths():
    rng = np.random.default_rng(1)
    for n in (31, 64, 97, 4131):
        x, w, g = rng.normal(size=(9, n)) + 1e3, rng.normal(size=n), rng.normal(size=(9, n))
        t = [tw.tensor(v.astype(np.float32), requires_grad=True) for v in (x, w, np.zeros(n))]
        y = F.layer_norm(t[0], [n], t[1], t[2])
        y.backward(tw.tensor(g.astype(np.float32)))
        wide = t[0].detach().numpy().astype(np.float64)
        rstd = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        xhat, gw = layer_norm(wide, [n]), g * w
        np.testing.assert_allclose(y.detach().numpy(), xhat * w, atol=3e-4)
        dx = rstd * (gw - gw.mean(1, keepdims=True) - xhat * (gw * xhat).mean(1, keepdims=True))
        np.testing.assert_allclose(t[0].grad.numpy(), dx, atol=3e-4)
        np.testing.assert_allclose(t[1].grad.numpy(), (g * xhat).sum(0), atol=3e-3)


def test_wrong_shapes():
    with pytest.raises(RuntimeError, match="normalized_shape"):
        F.layer_norm(tw.ones(2, 3), [4])
    with pytest.raises(RuntimeError, match="weight"):
        F.layer_norm(tw.ones(2, 3), [3], tw.ones(2))


def test_rms_norm_of_complex_numbers():
    def reference(x, shape, weight, eps=EPS):
        return x / np.sqrt((x * x).mean(tuple(range(-len(shape), 0)), keepdims=True) + eps) * weight

    rng = np.random.default_rng(0)
    x, weight = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((4, 2, 3), (2, 3)))
    got = F.rms_norm(tw.tensor(x), (2, 3), tw.tensor(weight), 0.5)
    np.testing.assert_allclose(got.numpy(), reference(x, (2, 3), weight, 0.5), rtol=1e-12)
    assert tw.autograd.gradcheck(lambda x: F.rms_norm(x, [3]).abs(), [tw.tensor(x, requires_grad=True)])
    with pytest.raises(RuntimeError, match="rms_norm: an input whose last dims"):
        F.rms_norm(tw.tensor(x), (3, 3))
