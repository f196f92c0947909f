"""The fused attention against weights held in NumPy."""

import math

import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import NN_FUNCTIONS as F

sdpa = F["scaled_dot_product_attention"]


def reference(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        k, v = (x.repeat(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = (q @ np.swapaxes(k, -1, -2)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


BOOL_MASK = np.random.default_rng(5).random((3, 4)) > 0.4
BOOL_MASK[1] = False


def test_forms():
    qkv = ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6))
    check(sdpa, reference, [sample(*qkv), sample(*qkv, is_causal=True), sample(*qkv, scale=0.3)])
    check(sdpa, reference, [sample((2, 3, 4), (2, 5, 4), (2, 5, 4)), sample((3, 4), (5, 4), (5, 2))])
    check(sdpa, reference, [sample((1, 4, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), enable_gqa=True, is_causal=True)])


def test_masks():
    q, k, v = (tw.tensor(array(s, seed=i)) for i, s in enumerate([(2, 2, 3, 4), (2, 2, 4, 4), (2, 2, 4, 5)]))
    float_mask = array((2, 1, 3, 4), seed=7)
    for mask in (BOOL_MASK, BOOL_MASK[None, None], float_mask, float_mask[0, 0]):
        got = sdpa(q, k, v, tw.tensor(mask)).numpy()
        np.testing.assert_allclose(got, reference(q.numpy(), k.numpy(), v.numpy(), mask), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "mask", [tw.tensor([[True] * 4, [False] * 4, [True] * 4]), tw.tensor([[0.0] * 4, [-math.inf] * 4, [0.0] * 4])]
)
def test_a_row_that_sees_nothing_is_zero_with_finite_gradients(mask):
    """pytorch/pytorch#41508: one fully masked query turned every gradient of the layer to nan."""
    q, k, v = (
        tw.tensor(array(s, seed=i)).float().requires_grad_()
        for i, s in enumerate([(1, 1, 3, 4), (1, 1, 4, 4), (1, 1, 4, 4)])
    )
    result = sdpa(q, k, v, mask)
    assert result[0, 0, 1].tolist() == [0.0] * 4
    (result[0, 0, 0].sum() + result[0, 0, 2].sum()).backward()
    for t in (q, k, v):
        assert np.isfinite(t.grad.numpy()).all()
    assert q.grad[0, 0, 1].tolist() == [0.0] * 4


@pytest.mark.parametrize("causal", [False, True])
def test_tiles_agree_with_whole_rows(causal):
    """More rows and columns than a tile, in float32, with gradients; two threads give the bits of one."""
    shapes = [(2, 2, 150, 16), (2, 2, 1100, 16), (2, 2, 1100, 24)]
    arrays = [array(s, seed=i) for i, s in enumerate(shapes)]
    threads, results = tw.get_num_threads(), {}
    for dtype, count in ((tw.float64, 1), (tw.float32, 1), (tw.float32, 2)):
        tw.set_num_threads(count)
        q, k, v = (tw.tensor(a).to(dtype).requires_grad_() for a in arrays)
        result = sdpa(q, k, v, is_causal=causal)
        (result * result).sum().backward()
        results[dtype, count] = [t.detach().numpy() for t in (result, q.grad, k.grad, v.grad)]
    tw.set_num_threads(threads)
    np.testing.assert_allclose(results[tw.float64, 1][0], reference(*arrays, is_causal=causal), rtol=1e-10, atol=1e-12)
    for wide, one, two in zip(*results.values()):
        np.testing.assert_allclose(one, wide, rtol=2e-4, atol=2e-5)
        assert (one == two).all()


def test_half_types_are_computed_in_float32():
    arrays = [array((1, 2, 5, 8), seed=i) for i in range(3)]
    got = sdpa(*(tw.tensor(a).to(tw.bfloat16) for a in arrays))
    assert got.dtype == tw.bfloat16
    np.testing.assert_allclose(got.float().numpy(), reference(*arrays), rtol=2e-2, atol=2e-2)


def test_dropout_keeps_the_mean():
    tw.manual_seed(0)
    v = tw.ones(1, 1, 64, 8)
    got = sdpa(tw.zeros(1, 1, 64, 8), tw.zeros(1, 1, 64, 8), v, dropout_p=0.5)
    assert abs(got.mean().item() - 1) < 0.05
    assert len(set(got[0, 0, :, 0].tolist())) > 1


def test_messages():
    with pytest.raises(RuntimeError, match=r"the shapes do not fit: query \[1, 2, 3\], key \[1, 2, 4\]"):
        sdpa(tw.ones(1, 2, 3), tw.ones(1, 2, 4), tw.ones(1, 2, 4))
    with pytest.raises(RuntimeError, match="attn_mask or is_causal is wanted, got both"):
        sdpa(tw.ones(2, 3), tw.ones(2, 3), tw.ones(2, 3), tw.ones(2, 2), is_causal=True)


def test_unequal_batches_of_half_types_are_computed_in_float32():
    q, k, v = (tw.tensor(array(s, -8, 8, seed=i)).half() for i, s in enumerate([(2, 3, 8), (4, 2, 6, 8), (4, 2, 6, 8)]))
    got, exact = F["scaled_dot_product_attention"](q, k, v), reference(*(x.double().numpy() for x in (q, k, v)))
    assert got.dtype == tw.float16 and np.abs(got.float().numpy() - exact).max() < 4e-3
