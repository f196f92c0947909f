"""Attention on tensor cores: heads of 64 and 128 columns of a half type, against the CPU's."""

import ctypes
import math
import os

import numpy as np
import pytest
import thalweg as tw
from against_cpu import TOLERANCE, make, same
from thalweg.nn import functional as F

HALVES = ["bfloat16", "float16"]
EMULATOR = os.environ.get("THALWEG_CUDA_EMULATOR")


@pytest.fixture(params=[8, 9] if EMULATOR else ["own"], autouse=True)
def capability(request):
    """Each by the kernels for 8.0 and those for 9.0a, where the devices are emulated."""
    if not EMULATOR:
        yield request.param
        return
    emulator = ctypes.CDLL(EMULATOR)
    emulator.tw_emulate_capability(request.param)
    yield request.param
    emulator.tw_emulate_capability(9)


@pytest.mark.skipif(
    not EMULATOR, reason="only the emulator tells which kernel has run; on a GPU the other tests compare what it ran"
)
@pytest.mark.parametrize("columns", [64, 128])
def test_devices_of_capability_9_run_groups(capability, columns):
    emulator = ctypes.CDLL(EMULATOR)
    q, k, v = (t.cuda().requires_grad_() for t in heads(5, 6, columns, "float16"))
    emulator.tw_take_largest_block()
    result = F.scaled_dot_product_attention(q, k, v)
    forward = emulator.tw_take_largest_block()
    result.backward(tw.ones_like(result))
    assert [forward, emulator.tw_take_largest_block()] == ([384, 384] if capability == 9 else [64, 64])


def attend(q, k, v, mask=None, causal=False, scale=None):
    """With a weight for each element of the result, so that gradients are not all ones."""
    mask = None if mask is None else mask.to(q.device)
    result = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
    )
    return result * make(tuple(result.shape), seed=9).to(result.dtype).to(result.device)


def heads(queries, keys, columns, dtype, batch=1, count=1, groups=None):
    shapes = [(batch, count, queries, columns), *[(batch, groups or count, keys, columns)] * 2]
    return [make(shape, dtype, seed) for seed, shape in enumerate(shapes)]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("queries", "keys"), [(1, 1), (7, 3), (16, 64), (65, 33), (64, 128), (31, 130), (130, 31), (150, 150), (3, 530)]
)
def test_lengths(queries, keys, causal, dtype):
    same(
        lambda q, k, v: attend(q, k, v, causal=causal),
        *heads(queries, keys, 64, dtype),
        tolerance=TOLERANCE[dtype],
    )


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("causal", [False, True])
def test_wide_heads_and_groups(causal, dtype):
    tensors = heads(70, 90, 128, dtype, batch=1, count=4, groups=2)
    same(lambda q, k, v: attend(q, k, v, causal=causal), *tensors, tolerance=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(70, 80), (2, 1, 70, 80), (2, 2, 1, 80), (1, 2, 70, 1)])
def test_masks(shape, dtype):
    tensors = heads(70, 80, 64, dtype, batch=2, count=2)
    seen = make(shape, seed=5) > 0
    for mask in (seen, make(shape, dtype, seed=6), tw.where(seen, 0.0, -math.inf).to(getattr(tw, dtype))):
        same(lambda q, k, v, mask=mask: attend(q, k, v, mask), *tensors, tolerance=TOLERANCE[dtype])


@pytest.mark.parametrize("columns", [64, 128])
def test_rows_that_see_nothing_are_zero(columns):
    tensors = heads(70, 80, columns, "float16")
    mask = tw.ones(70, 80, dtype=tw.bool)
    mask[3] = mask[68] = False
    mask[:, 77] = False
    same(lambda q, k, v: attend(q, k, v, mask), *tensors, tolerance=TOLERANCE["float16"])
    q, k, v = (t.cuda().requires_grad_() for t in tensors)
    result = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.cuda())
    result.sum().backward()
    assert result[0, 0, 3].tolist() == q.grad[0, 0, 68].tolist() == [0] * columns
    assert k.grad[0, 0, 77].tolist() == v.grad[0, 0, 77].tolist() == [0] * columns


def test_scales():
    tensors = heads(33, 40, 64, "float16")
    for scale in (0.0, -0.2, 1.0):  # at 1 rows are nearly their greatest weight
        same(lambda q, k, v, s=scale: attend(q, k, v, scale=s), *tensors, tolerance=2 * TOLERANCE["float16"])


def test_places_in_memory():
    tolerance = TOLERANCE["bfloat16"]

    def packed(x):  # [batch, positions, q k v, heads, columns], as one projection makes them
        q, k, v = (part.transpose(1, 2) for part in x.unbind(2))
        return attend(q, k, v, causal=True)

    same(packed, make((2, 37, 3, 2, 64), "bfloat16"), tolerance=tolerance)
    # Rows that are no multiple of 16 bytes apart, columns apart, and an address that is no multiple of 16.
    same(lambda x, k, v: attend(x[..., 1:65], k, v), make((1, 1, 5, 66), "bfloat16"), *heads(5, 6, 64, "bfloat16")[1:],
         tolerance=tolerance)  # fmt: skip
    same(lambda x, k, v: attend(x[..., ::2], k, v), make((1, 1, 5, 128), "bfloat16"), *heads(5, 6, 64, "bfloat16")[1:],
         tolerance=tolerance)  # fmt: skip
    same(lambda x, k, v: attend(x[1:].reshape(1, 1, 5, 64), k, v), make(5 * 64 + 1, "bfloat16"),
         *heads(5, 6, 64, "bfloat16")[1:], tolerance=tolerance)  # fmt: skip


def test_gradients_that_are_broadcast():
    def summed(device):
        q, k, v = (t.to(device).requires_grad_() for t in heads(20, 24, 64, "float16"))
        F.scaled_dot_product_attention(q, k, v).sum().backward()
        return [t.grad.float().cpu().numpy() for t in (q, k, v)]

    for expected, got in zip(summed("cpu"), summed("cuda"), strict=True):
        np.testing.assert_allclose(got, expected, rtol=4e-3, atol=4e-3 * np.abs(expected).max())


def test_no_keys_and_no_queries():
    q, none = make((1, 2, 3, 64), "float16"), make((1, 2, 0, 64), "float16")
    same(lambda q, k, v: attend(q, k, v), q, none, none)
    same(lambda q, k, v: attend(q, k, v), none, q, q)


def test_large_scores_do_not_overflow():
    q, k, v = (t.cuda() for t in heads(17, 19, 64, "bfloat16"))
    got = F.scaled_dot_product_attention(q * 100, k * 100, v, scale=1.0)
    assert got.isfinite().all().item()
    best = ((q.double() @ k.double().transpose(-1, -2)).cpu()).argmax(-1)
    assert np.allclose(got.cpu().double(), v.cpu().double()[0, 0][best[0, 0]][None, None], rtol=2e-2)


@pytest.mark.parametrize(("columns", "dtype"), [(64, "float16"), (8, "float32")])
def test_nan_is_not_hidden(columns, dtype):
    q, k, v = heads(3, 5, columns, dtype)
    q[0, 0, 1, 0] = float("nan")
    got = F.scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda()).cpu()
    assert got.isnan().all(-1).tolist() == [[[False, True, False]]]
