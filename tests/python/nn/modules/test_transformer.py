"""Transformer layers as compositions of their parts; stacks, masks, errors."""

import math

import pytest
import thalweg as tw
from thalweg import nn

X, MEMORY = tw.randn(2, 4, 8, dtype=tw.float64), tw.randn(2, 5, 8, dtype=tw.float64)
CAUSAL = nn.Transformer.generate_square_subsequent_mask(4, dtype=tw.float64)


def close(got, expected):
    assert (got - expected).abs().max().item() < 1e-10


def options(**more):
    return {"dim_feedforward": 16, "dropout": 0.0, "batch_first": True, "dtype": tw.float64, **more}


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", tw.tanh])
def test_encoder_layer(norm_first, activation):
    layer = nn.TransformerEncoderLayer(8, 2, activation=activation, norm_first=norm_first, **options())
    function = {"relu": nn.ReLU(), "gelu": nn.GELU()}.get(activation, activation)

    def attend(x):
        return layer.self_attn(x, x, x, attn_mask=CAUSAL)[0]

    def feed(x):
        return layer.linear2(function(layer.linear1(x)))

    if norm_first:
        x = X + attend(layer.norm1(X))
        expected = x + feed(layer.norm2(x))
    else:
        x = layer.norm1(X + attend(X))
        expected = layer.norm2(x + feed(x))
    close(layer(X, src_mask=CAUSAL), expected)
    close(layer(X, src_mask=CAUSAL, is_causal=True), expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer(norm_first):
    layer = nn.TransformerDecoderLayer(8, 2, norm_first=norm_first, **options())
    norms = (layer.norm1, layer.norm2, layer.norm3)
    blocks = (
        lambda x: layer.self_attn(x, x, x, attn_mask=CAUSAL)[0],
        lambda x: layer.multihead_attn(x, MEMORY, MEMORY)[0],
        lambda x: layer.linear2(layer.linear1(x).relu()),
    )
    x = X
    for norm, block in zip(norms, blocks):
        x = x + block(norm(x)) if norm_first else norm(x + block(x))
    close(layer(X, MEMORY, tgt_mask=CAUSAL), x)


def test_stacks_copy_their_layer():
    layer, norm = nn.TransformerEncoderLayer(8, 2, **options()), nn.LayerNorm(8, dtype=tw.float64)
    stack = nn.TransformerEncoder(layer, 2, norm)
    assert stack.layers[0].linear1.weight is not stack.layers[1].linear1.weight
    close(stack(X, CAUSAL), norm(stack.layers[1](stack.layers[0](X, CAUSAL), CAUSAL)))
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, **options()), 2)
    close(decoder(X, MEMORY), decoder.layers[1](decoder.layers[0](X, MEMORY), MEMORY))


def test_transformer_is_encoder_then_decoder():
    model = nn.Transformer(8, 2, 1, 2, **options())
    padding = tw.zeros(2, 5, dtype=tw.bool)
    padding[1, 4] = True
    memory = model.encoder(MEMORY, src_key_padding_mask=padding)
    expected = model.decoder(X, memory, tgt_mask=CAUSAL, memory_key_padding_mask=padding)
    got = model(
        MEMORY, X, tgt_mask=CAUSAL, src_key_padding_mask=padding, memory_key_padding_mask=padding, tgt_is_causal=True
    )
    close(got, expected)


def test_a_causal_stack_does_not_look_ahead():
    layer = nn.TransformerEncoderLayer(8, 2, **options())
    other = X.clone()
    other[:, 2:] += 1
    close(layer(X, CAUSAL)[:, :2], layer(other, CAUSAL)[:, :2])


def test_bias_false_reaches_everything():
    model = nn.Transformer(8, 2, 1, 1, **options(bias=False))
    assert not [name for name, _ in model.named_parameters() if "bias" in name]


def test_the_subsequent_mask():
    inf = -math.inf
    assert nn.Transformer.generate_square_subsequent_mask(3).tolist() == [[0, inf, inf], [0, 0, inf], [0, 0, 0]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="other"), "'relu', 'gelu'"),
        (lambda: nn.Transformer(8, 2, 1, 1, **options())(MEMORY, X[:1]), "one batch size"),
        (lambda: nn.Transformer(8, 2, 1, 1, **options())(MEMORY[..., :4], X), "size 8"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()
