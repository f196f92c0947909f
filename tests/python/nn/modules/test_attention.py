"""MultiheadAttention against NumPy: masks, appended keys, sizes, layouts, errors."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn


def attention(module, q, k, v, mask=None):
    """[N, L, E] in, (output, weights [N, H, L, S]) out; mask is added to the scores [N, H, L, S]."""
    p = {name: value.detach().numpy() for name, value in module.named_parameters()}
    size, heads = module.embed_dim, module.num_heads
    if "in_proj_weight" in p:
        weights = np.split(p["in_proj_weight"], 3)
    else:
        weights = [p[f"{name}_proj_weight"] for name in "qkv"]
    biases = np.split(p["in_proj_bias"], 3) if "in_proj_bias" in p else [0, 0, 0]
    q, k, v = (x @ w.T + b for x, w, b in zip((q, k, v), weights, biases))
    if module.bias_k is not None:
        k, v = (
            np.concatenate([x, np.broadcast_to(p[b], (len(x), 1, size))], 1) for x, b in ((k, "bias_k"), (v, "bias_v"))
        )
    if module.add_zero_attn:
        k, v = (np.concatenate([x, np.zeros((len(x), 1, size))], 1) for x in (k, v))
    q, k, v = (x.reshape(len(x), -1, heads, size // heads).transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(size // heads)
    if mask is not None:
        scores[..., : mask.shape[-1]] += mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    weights = e / e.sum(-1, keepdims=True)
    output = (weights @ v).transpose(0, 2, 1, 3).reshape(len(q), -1, size)
    return output @ p["out_proj.weight"].T + p.get("out_proj.bias", 0), weights


def randomized(module):
    with tw.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0.0, 0.3)
    return module


def make(**options):
    return randomized(nn.MultiheadAttention(8, 2, batch_first=True, dtype=tw.float64, **options))


Q, K = tw.randn(3, 4, 8, dtype=tw.float64), tw.randn(3, 5, 8, dtype=tw.float64)
BARRED = tw.zeros(4, 5, dtype=tw.bool)
BARRED[1, 2:] = True
PADDING = tw.zeros(3, 5, dtype=tw.bool)
PADDING[2, 3:] = True


def check(got, expected):
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}])
@pytest.mark.parametrize("need_weights", [True, False])
def test_masks_and_appended_keys(options, need_weights):
    module = make(**options)
    mask = np.where(BARRED.numpy(), -np.inf, 0)[None, None] + np.where(PADDING.numpy(), -np.inf, 0)[:, None, None]
    expected, weights = attention(module, Q.numpy(), K.numpy(), K.numpy(), mask)
    output, got = module(Q, K, K, key_padding_mask=PADDING, attn_mask=BARRED, need_weights=need_weights)
    check(output, expected)
    assert (got is None) == (not need_weights)
    if need_weights:
        check(got, weights.mean(1))
        check(module(Q, K, K, PADDING, True, BARRED, average_attn_weights=False)[1], weights)


def test_a_mask_for_every_head_and_floating_masks():
    module, mask = make(), tw.randn(6, 4, 5, dtype=tw.float64)
    expected, _ = attention(module, Q.numpy(), K.numpy(), K.numpy(), mask.numpy().reshape(3, 2, 4, 5))
    check(module(Q, K, K, attn_mask=mask)[0], expected)


def test_other_sizes_of_key_and_value():
    module = make(kdim=3, vdim=6)
    k, v = tw.randn(3, 5, 3, dtype=tw.float64), tw.randn(3, 5, 6, dtype=tw.float64)
    expected, _ = attention(module, Q.numpy(), k.numpy(), v.numpy())
    check(module(Q, k, v)[0], expected)


def test_self_attention_and_layouts():
    module = make()
    expected, weights = attention(module, Q.numpy(), Q.numpy(), Q.numpy())
    check(module(Q, Q, Q)[0], expected)
    output, got = module(Q[1], Q[1], Q[1], key_padding_mask=tw.zeros(4, dtype=tw.bool))
    check(output, expected[1]), check(got, weights.mean(1)[1])
    module.batch_first = False
    x = Q.transpose(0, 1)
    check(module(x, x, x)[0].transpose(0, 1), expected)


def test_is_causal_is_the_causal_mask():
    module = make()
    mask = nn.Transformer.generate_square_subsequent_mask(4, dtype=tw.float64)
    expected, _ = attention(module, Q.numpy(), Q.numpy(), Q.numpy(), mask.numpy())
    for need_weights in (True, False):
        check(module(Q, Q, Q, attn_mask=mask, is_causal=True, need_weights=need_weights)[0], expected)


def test_dropout_only_in_training():
    module = nn.MultiheadAttention(8, 2, dropout=1.0, batch_first=True, dtype=tw.float64)
    assert module(Q, K, K)[1].abs().sum().item() == 0
    assert module.eval()(Q, K, K)[1].sum().item() == pytest.approx(12)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.MultiheadAttention(8, 3), "divide embed_dim"),
        (lambda: make()(Q, K[0], K[0]), "2 or of 3 dims"),
        (lambda: make()(Q, K[..., :4], K), "key of size 8 is wanted, got 4"),
        (lambda: make()(Q, K, K[:, :2]), "one length"),
        (lambda: make()(Q, K[:2], K[:2]), "key of batch 3"),
        (lambda: make()(Q, K, K, attn_mask=BARRED[:, :2]), "attn_mask"),
        (lambda: make()(Q, K, K, key_padding_mask=PADDING[:2]), "key_padding_mask"),
        (lambda: make()(Q, Q, Q, is_causal=True), "attn_mask, which is wanted"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_an_integer_mask_is_refused():
    with pytest.raises(TypeError, match="bool or a floating dtype"):
        make()(Q, K, K, attn_mask=tw.zeros(4, 5, dtype=tw.int64))
