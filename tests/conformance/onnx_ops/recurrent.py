"""RNN, GRU and LSTM through thalweg's modules; gates are put into thalweg's order."""

import thalweg as tw

from .registry import NotOffered, op

# thalweg's gate i is ONNX's gate ORDER[i]
ORDER = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def _gates(kind, x):
    parts = x.chunk(len(ORDER[kind]), 0)
    return tw.cat([parts[i] for i in ORDER[kind]], 0)


def _module(node, x, w, r, b):
    kind, hidden = node.op_type, node.get("hidden_size", r.shape[-1])
    directions = w.shape[0]
    if node.get("clip") is not None or node.get("input_forget", 0):
        raise NotOffered(f"{kind} with clip or input_forget")
    activations = node.get("activations")
    if activations is not None and list(activations) != USUAL[kind] * directions:
        raise NotOffered(f"{kind} with {activations}")
    module = getattr(tw.nn, kind)(x.shape[-1], hidden, bidirectional=directions == 2, dtype=x.dtype)
    with tw.no_grad():
        for d, suffix in enumerate(["l0", "l0_reverse"][:directions]):
            getattr(module, f"weight_ih_{suffix}").copy_(_gates(kind, w[d]))
            getattr(module, f"weight_hh_{suffix}").copy_(_gates(kind, r[d]))
            biases = (0, 0) if b is None else b[d].chunk(2, 0)
            for name, bias in zip(("bias_ih", "bias_hh"), biases):
                target = getattr(module, f"{name}_{suffix}")
                target.fill_(0) if b is None else target.copy_(_gates(kind, bias))
    return module


def _reset_first(x, w, r, b, h):
    """A GRU in one direction whose reset gate meets the state before its product, which the module's does not."""
    wz, wr, wn = w.chunk(3, 0)
    rz, rr, rn = r.chunk(3, 0)
    bz, br, bn = (p + q for p, q in zip(*(half.chunk(3, 0) for half in b.chunk(2, 0))))
    states = []
    for step in x.unbind(0):
        z = tw.sigmoid(step @ wz.t() + h @ rz.t() + bz)
        reset = tw.sigmoid(step @ wr.t() + h @ rr.t() + br)
        n = tw.tanh(step @ wn.t() + (reset * h) @ rn.t() + bn)
        h = (1 - z) * n + z * h
        states.append(h)
    return tw.stack(states), h


def _gru(x, w, r, b, h):
    """(outputs [T, N, directions * H], last states) of _reset_first in each direction."""
    found = []
    for d in range(w.shape[0]):
        bias = tw.zeros(6 * r.shape[-1], dtype=x.dtype) if b is None else b[d]
        y, last = _reset_first(x.flip(0) if d else x, w[d], r[d], bias, h[d])
        found.append((y.flip(0) if d else y, last))
    return tw.cat([y for y, _ in found], -1), tw.stack([last for _, last in found])


@op("RNN", "GRU", "LSTM")
def recurrent(node, x, w, r, b=None, lengths=None, h=None, c=None, peepholes=None):
    if peepholes is not None:
        raise NotOffered("LSTM with peepholes")
    batch_first = node.get("layout", 0)
    x = x.transpose(0, 1) if batch_first else x
    backwards = node.get("direction", "forward") == "reverse"
    x = x.flip(0) if backwards else x
    if lengths is not None and set(lengths.tolist()) != {x.shape[0]}:
        raise NotOffered(f"{node.op_type} with lengths that differ")
    shape = (w.shape[0], x.shape[1], r.shape[-1])
    states = [tw.zeros(shape, dtype=x.dtype) if s is None else s.transpose(0, 1) if batch_first else s for s in (h, c)]
    if node.op_type == "GRU" and not node.get("linear_before_reset", 0):
        y, last = _gru(x, w, r, b, states[0])
    else:
        module = _module(node, x, w, r, b)
        with tw.no_grad():
            y, last = module(x, tuple(states) if node.op_type == "LSTM" else states[0])
    y = y.reshape(*x.shape[:2], *shape[::2]).transpose(1, 2)  # [T, directions, N, H]
    y = y.flip(0) if backwards else y
    last = list(last) if node.op_type == "LSTM" else [last]
    if batch_first:
        y, last = y.permute(2, 0, 1, 3), [s.transpose(0, 1) for s in last]
    return (y, *last)
