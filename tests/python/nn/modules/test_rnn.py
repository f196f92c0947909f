"""Recurrent layers against loops in NumPy; packed, bidirectional, projected, unbatched; cells; errors."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn.utils import rnn as seq


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, h, c, p, suffix):
    """One step for one row; p holds the parameters by name."""

    def gates(kind, v):
        return p[f"weight_{kind}{suffix}"] @ v + p.get(f"bias_{kind}{suffix}", 0)

    if mode == "LSTM":
        i, f, g, o = np.split(gates("ih", x) + gates("hh", h), 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return p[f"weight_hr{suffix}"] @ h if f"weight_hr{suffix}" in p else h, c
    if mode == "GRU":
        (xr, xz, xn), (hr, hz, hn) = np.split(gates("ih", x), 3), np.split(gates("hh", h), 3)
        z, n = sigmoid(xz + hz), np.tanh(xn + sigmoid(xr + hr) * hn)
        return (1 - z) * n + z * h, c
    total = gates("ih", x) + gates("hh", h)
    return (np.tanh(total) if mode == "tanh" else np.maximum(total, 0)), c


def run(layer, mode, x, h0, c0):
    """One sequence [L, F] through all layers: output [L, D H], h and c [layers D, H]."""
    p = {name: value.detach().numpy() for name, value in layer.named_parameters()}
    directions, hs, cs = 1 + layer.bidirectional, [], []
    for k in range(layer.num_layers):
        outputs = []
        for d in range(directions):
            suffix = f"_l{k}" + ("_reverse" if d else "")
            h, c, out = h0[k * directions + d], c0[k * directions + d], []
            for row in x[::-1] if d else x:
                h, c = step(mode, row, h, c, p, suffix)
                out.append(h)
            outputs.append(np.stack(out[::-1] if d else out))
            hs.append(h)
            cs.append(c)
        x = np.concatenate(outputs, axis=1)
    return x, np.stack(hs), np.stack(cs)


def make(mode, **options):
    if mode in ("tanh", "relu"):
        return nn.RNN(3, 4, nonlinearity=mode, dtype=tw.float64, **options)
    return getattr(nn, mode)(3, 4, dtype=tw.float64, **options)


def state(layer, batch):
    parts = layer.num_layers * (1 + layer.bidirectional)
    h = tw.randn(parts, batch, layer.proj_size or 4, dtype=tw.float64)
    c = tw.randn(parts, batch, 4, dtype=tw.float64)
    return (h, c), ((h, c) if layer.mode == "LSTM" else h)


def check(layer, mode, sequences, hc, output, final):
    h, c = final if mode == "LSTM" else (final, None)
    for i, x in enumerate(sequences):
        expected = run(layer, mode, x.numpy(), hc[0][:, i].numpy(), hc[1][:, i].numpy())
        np.testing.assert_allclose(output[i].detach().numpy(), expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(h[:, i].detach().numpy(), expected[1], rtol=1e-9, atol=1e-12)
        if mode == "LSTM":
            np.testing.assert_allclose(c[:, i].detach().numpy(), expected[2], rtol=1e-9, atol=1e-12)


CASES = [
    (mode, options)
    for mode in ("tanh", "relu", "LSTM", "GRU")
    for options in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "num_layers": 2})
] + [("LSTM", {"proj_size": 2}), ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False})]


@pytest.mark.parametrize(("mode", "options"), CASES)
def test_padded_batch(mode, options):
    layer = make(mode, batch_first=True, **options)
    x = tw.randn(2, 5, 3, dtype=tw.float64)
    hc, hx = state(layer, 2)
    check(layer, mode, x, hc, *layer(x, hx))


@pytest.mark.parametrize(("mode", "options"), CASES)
def test_packed_sequences_in_any_order(mode, options):
    layer = make(mode, **options)
    sequences = [tw.randn(n, 3, dtype=tw.float64) for n in (2, 5, 1, 5)]
    hc, hx = state(layer, 4)
    output, final = layer(seq.pack_sequence(sequences, enforce_sorted=False), hx)
    check(layer, mode, sequences, hc, seq.unpack_sequence(output), final)


def test_without_a_batch_and_without_a_state():
    layer = make("GRU", num_layers=2)
    x = tw.randn(5, 3, dtype=tw.float64)
    output, final = layer(x)
    batched, batched_final = layer(x.unsqueeze(1), tw.zeros(2, 1, 4, dtype=tw.float64))
    assert output.tolist() == batched.squeeze(1).tolist() and final.tolist() == batched_final.squeeze(1).tolist()
    time_first, _ = layer(tw.randn(5, 2, 3, dtype=tw.float64))
    assert tuple(time_first.shape) == (5, 2, 4)


def test_gradients_reach_everything():
    layer = make("LSTM", num_layers=2, bidirectional=True, proj_size=2)
    x = tw.randn(5, 2, 3, dtype=tw.float64, requires_grad=True)
    layer(x)[0].sum().backward()
    assert all(p.grad.abs().sum().item() > 0 for p in layer.parameters()) and x.grad.abs().min().item() > 0


def test_dropout_lies_between_layers_only():
    layer = make("GRU", num_layers=2, dropout=1.0)
    x = tw.randn(3, 1, 3, dtype=tw.float64)
    dropped, _ = layer(x)
    other, _ = layer(x * 2)
    assert dropped.tolist() == other.tolist()  # nothing of the first layer arrives
    assert layer.eval()(x)[0].tolist() != dropped.tolist()
    assert make("GRU", dropout=1.0)(x)[0].abs().sum().item() > 0


@pytest.mark.parametrize(
    ("cell", "layer", "mode"),
    [
        (nn.RNNCell(3, 4, dtype=tw.float64), "tanh", "tanh"),
        (nn.RNNCell(3, 4, nonlinearity="relu", dtype=tw.float64), "relu", "relu"),
        (nn.LSTMCell(3, 4, dtype=tw.float64), "LSTM", "LSTM"),
        (nn.GRUCell(3, 4, bias=False, dtype=tw.float64), "GRU", "GRU"),
    ],
)
def test_cells(cell, layer, mode):
    x, h, c = (tw.randn(2, size, dtype=tw.float64) for size in (3, 4, 4))
    got = cell(x, (h, c) if mode == "LSTM" else h)
    p = {f"{name}_": value.detach().numpy() for name, value in cell.named_parameters()}
    for i in range(2):
        expected = step(mode, x[i].numpy(), h[i].numpy(), c[i].numpy(), p, "_")
        first = got[0][i] if mode == "LSTM" else got[i]
        np.testing.assert_allclose(first.detach().numpy(), expected[0], rtol=1e-10)
    alone = cell(x[0])
    assert tuple((alone[0] if mode == "LSTM" else alone).shape) == (4,)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: nn.RNN(3, 0), ValueError),
        (lambda: nn.RNN(3.0, 4), TypeError),
        (lambda: nn.RNN(3, 4, nonlinearity="other"), ValueError),
        (lambda: nn.GRU(3, 4, bias=1), TypeError),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError),
        (lambda: nn.LSTM(3, 4, dropout=2), ValueError),
        (lambda: nn.GRU(3, 4)(tw.ones(5, 2, 2)), ValueError),
        (lambda: nn.GRU(3, 4)(tw.ones(3)), ValueError),
        (lambda: nn.GRU(3, 4)(tw.ones(0, 2, 3)), ValueError),
        (lambda: nn.GRU(3, 4)(tw.ones(5, 2, 3), tw.ones(1, 3, 4)), ValueError),
        (lambda: nn.GRUCell(3, 4)(tw.ones(2, 2)), ValueError),
        (lambda: nn.GRUCell(3, 4)(tw.ones(2, 3), tw.ones(3, 4)), ValueError),
        (lambda: nn.RNNCell(3, 4, nonlinearity="other")(tw.ones(2, 3)), ValueError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()
