"""3x3 convolutions with stride 1, which go by tiles where there are 64 channels and more: values, accuracy, threads.

Without AVX2 they are direct sums; every test holds for those too.
"""

import numpy as np
import pytest
import thalweg as tw
from thalweg.nn import functional as F

# Images, channels in and out, height, width: whole tiles, half ones on either side, several chunks and a rest.
SHAPES = [(6, 64, 64, 16, 16), (5, 64, 128, 13, 17), (3, 128, 64, 31, 8), (33, 64, 64, 7, 7), (9, 256, 192, 14, 14)]


def direct(x, w):
    """The sum itself, in float64."""
    x, (height, width) = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1))), x.shape[2:]
    return sum(
        np.einsum("nchw,oc->nohw", x[:, :, i : i + height, j : j + width], w[:, :, i, j].astype(np.float64))
        for i in range(3)
        for j in range(3)
    )


def weight_gradient(x, g):
    x, (height, width) = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1))), x.shape[2:]
    rows = [
        [np.einsum("nchw,nohw->oc", x[:, :, i : i + height, j : j + width], g.astype(np.float64)) for j in range(3)]
        for i in range(3)
    ]
    return np.array(rows).transpose(2, 3, 0, 1)


def arrays(images, inputs, outputs, height, width):
    rng = np.random.default_rng(0)
    shapes = (images, inputs, height, width), (outputs, inputs, 3, 3), (images, outputs, height, width), (outputs,)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def tensors(x, w, g, b, weight_order=tw.channels_last):
    x, g = (tw.from_numpy(a).to(memory_format=tw.channels_last) for a in (x, g))
    w = tw.from_numpy(w).contiguous(memory_format=weight_order)
    return x.requires_grad_(), w.requires_grad_(), g, tw.from_numpy(b)


def close(got, wanted):
    error = got.detach().numpy() - wanted
    return np.sqrt(np.mean(error**2)) <= 3e-6 * np.sqrt(np.mean(wanted**2))


@pytest.mark.parametrize("weight_order", [tw.contiguous_format, tw.channels_last])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients_against_double(shape, weight_order):
    given = arrays(*shape)
    x, w, g, b = tensors(*given, weight_order)
    y = F.conv2d(x, w, b, padding=1)
    y.backward(g)
    assert y.stride()[1] == 1 and x.grad.stride()[1] == 1
    assert close(y, direct(given[0], given[1]) + given[3][:, None, None])
    turned = given[1].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
    assert close(x.grad, direct(given[2], turned))
    assert close(w.grad, weight_gradient(given[0], given[2]))


@pytest.mark.parametrize("shape", SHAPES)
def test_row_major_tensors_give_the_same_numbers(shape):
    given = arrays(*shape)
    x, w, g, b = tensors(*given, tw.contiguous_format)
    y = F.conv2d(x, w, b, padding=1)
    y.backward(g)
    rows = [tw.from_numpy(array).requires_grad_() for array in given[:2]]
    result = F.conv2d(*rows, b, padding=1)
    result.backward(tw.from_numpy(given[2]))
    assert result.is_contiguous() and rows[0].grad.is_contiguous() and rows[1].grad.is_contiguous()
    for got, expected in ((result, y), (rows[0].grad, x.grad), (rows[1].grad, w.grad)):
        assert close(got, expected.detach().numpy())


def test_threads_do_not_change_results():
    before = tw.get_num_threads()
    found = []
    for threads in (1, 2, 3):
        tw.set_num_threads(threads)
        x, w, g, b = tensors(*arrays(6, 128, 64, 20, 20))
        y = F.conv2d(x, w, b, padding=1)
        y.backward(g)
        found.append([t.detach().numpy().tobytes() for t in (y, x.grad, w.grad)])
    tw.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_reaches_its_own_windows_only(value):
    given = arrays(4, 64, 64, 17, 16)
    given[0][2, 5, 8, 9] = value
    given[2][1, 3, 0, 15] = value
    x, w, g, _ = tensors(*given)
    y = F.conv2d(x, w, padding=1)
    y.backward(g)
    outside = np.ones(y.shape, dtype=bool)
    outside[2, :, 7:10, 8:11] = False
    clean = arrays(4, 64, 64, 17, 16)
    wanted = direct(clean[0], clean[1])
    assert np.allclose(y.detach().numpy()[outside], wanted[outside], rtol=1e-3, atol=1e-3)
    if not np.isfinite(value):
        assert not np.isfinite(y.detach().numpy()[~outside]).any()
    outside[:] = True
    outside[1, :, 0:2, 14:16] = False
    wanted = direct(clean[2], clean[1].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    assert np.allclose(x.grad.numpy()[outside], wanted[outside], rtol=1e-3, atol=1e-3)
    others = np.arange(64) != 5
    rest = w.grad.numpy()[np.arange(64) != 3][:, others]
    assert np.isfinite(rest).all()
