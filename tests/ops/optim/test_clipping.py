"""multi_tensor_norm, multi_tensor_clip, multi_tensor_unscale."""

import math

import numpy as np
import pytest
import thalweg as tw
from multi_tensor import lists_of, place, split_dims, tensors_of, values
from thalweg._registry import ops

ARRAYS = lists_of(0)[0]


def tensors(dtype=tw.float64, strided=False):
    return tensors_of([ARRAYS], dtype, dtype, strided)[0]


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, math.inf, -math.inf])
def test_norm(p, strided):
    flat = np.concatenate([a.ravel() for a in ARRAYS])
    for dtype, tolerance in ((tw.float64, 1e-13), (tw.float32, 1e-6), (tw.bfloat16, 1e-2)):
        got = ops.multi_tensor_norm(tensors(dtype, strided), p=p)
        assert got.dtype == dtype and got.shape == ()
        np.testing.assert_allclose(got.double().item(), np.linalg.norm(flat, p), rtol=tolerance)


def test_norm_of_order_zero_counts_tensors():
    tensors = [place(t) for t in (tw.zeros(3), tw.tensor([0.0, 2.0, 3.0]), tw.ones(4000))]
    assert ops.multi_tensor_norm(tensors, p=0.0).item() == 2


def test_norm_is_large_small_or_no_number():
    def norm(*tensors, p=2.0):
        return ops.multi_tensor_norm([place(t) for t in tensors], p=p)

    assert norm(tw.full((2,), 1e30), tw.full((2,), 1e30)).item() == pytest.approx(2e30)
    for p in (2.0, math.inf, -math.inf):
        assert math.isnan(norm(tw.ones(5000), tw.tensor([1.0, math.nan, 0.5]), p=p).item())
    assert norm(tw.zeros(0)).item() == 0
    assert norm(tw.zeros(1), tw.zeros(1, dtype=tw.float64)).dtype == tw.float64


def test_norm_does_not_depend_on_threads():
    before, results = tw.get_num_threads(), set()
    for threads in (1, 2, 5):
        tw.set_num_threads(threads)
        results.add(ops.multi_tensor_norm(tensors(tw.float32) * 30).item())
    tw.set_num_threads(before)
    assert len(results) == 1


@pytest.mark.parametrize("strided", [False, True])
def test_clip(strided):
    for norm, factor in ((4.0, 0.5 / (4.0 + 1e-6)), (0.25, 1.0)):
        grads = tensors(strided=strided)
        ops.multi_tensor_clip(grads, place(tw.tensor(norm)), max_norm=0.5)
        for grad, array in zip(grads, ARRAYS):
            np.testing.assert_allclose(values(grad), array * factor, rtol=1e-12)


def test_clip_by_no_number():
    grad = place(tw.ones(2))
    ops.multi_tensor_clip([grad], place(tw.tensor(math.nan)), max_norm=0.5)
    assert np.isnan(values(grad)).all()


@pytest.mark.parametrize("bad", [None, math.inf, -math.inf, math.nan])
def test_unscale(bad):
    grads = [place(t) for t in (tw.ones(5000), tw.ones(3, dtype=tw.bfloat16), tw.ones(()))]
    if bad is not None:
        grads[0][4321] = bad
    found = place(tw.zeros((), dtype=tw.bool))
    ops.multi_tensor_unscale(grads, found, factor=0.5)
    assert found.item() == (bad is not None)
    assert all(grad.reshape(-1)[0].item() == 0.5 for grad in grads)


def test_signatures():
    assert split_dims(ops.multi_tensor_norm.signatures(tensors(), p=math.inf)) == [{0}, {1}]
    assert ops.multi_tensor_norm.signatures(tensors(), p=math.inf)[0][1] == [("P", "max")]
    assert ops.multi_tensor_norm.signatures(tensors(), p=2.0) == []
    assert split_dims(ops.multi_tensor_clip.signatures(tensors(), tw.ones(()), max_norm=1.0)) == [{0}, {1}]
    assert ops.multi_tensor_norm.signatures(tensors(), p=-math.inf)[1][1] == [("P", "min")]
    unscale = ops.multi_tensor_unscale.signatures(tensors(), tw.zeros((), dtype=tw.bool), factor=1.0)
    assert split_dims(unscale) == [{0}, {1}, set()]
    assert all(inputs[-1] == ("P", "max") for inputs, _ in unscale)


def test_refusals():
    with pytest.raises(ValueError, match="multi_tensor_norm"):
        ops.multi_tensor_norm([])
    with pytest.raises(TypeError, match="multi_tensor_norm"):
        ops.multi_tensor_norm([tw.ones(2, dtype=tw.int64)])
    with pytest.raises(ValueError, match="multi_tensor_clip"):
        ops.multi_tensor_clip([tw.ones(2)], tw.ones(2), max_norm=1.0)
    with pytest.raises(ValueError, match="multi_tensor_unscale"):
        ops.multi_tensor_unscale([tw.ones(2)], tw.ones(1), factor=1.0)
