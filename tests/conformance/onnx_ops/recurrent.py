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
    if kind == "GRU" and not node.get("linear_before_reset", 0):
        raise NotOffered("GRU with linear_before_reset=0")
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
    module = _module(node, x, w, r, b)
    shape = (w.shape[0], x.shape[1], r.shape[-1])
    states = [tw.zeros(shape, dtype=x.dtype) if s is None else s.transpose(0, 1) if batch_first else s for s in (h, c)]
    with tw.no_grad():
        y, last = module(x, tuple(states) if node.op_type == "LSTM" else states[0])
    y = y.reshape(*x.shape[:2], *shape[::2]).transpose(1, 2)  # [T, directions, N, H]
    y = y.flip(0) if backwards else y
    last = list(last) if node.op_type == "LSTM" else [last]
    if batch_first:
        y, last = y.permute(2, 0, 1, 3), [s.transpose(0, 1) for s in last]
    return (y, *last)
