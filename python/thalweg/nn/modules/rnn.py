"""Recurrent layers and their cells.

A layer works on rows: all time steps of all sequences one after the other, with the number of rows of each step in
`batch_sizes`. A padded batch is the case of equal sizes, a PackedSequence that of shrinking ones. The product with the
inputs is one matmul over all rows; only the product with the state is done step by step.
"""

from __future__ import annotations

import math

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn import init
from thalweg.nn.module import Module
from thalweg.nn.parameter import Parameter
from thalweg.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]


# ---- one step: gates of the input (already multiplied), the state, its weights -> the new state, a tuple


def _plain_step(nonlinearity):
    def step(gates, state, weight_hh, bias_hh):
        return (nonlinearity(gates + F.linear(state[0], weight_hh, bias_hh)),)

    return step


def _lstm_step(gates, state, weight_hh, bias_hh, weight_hr=None):
    hidden, cell = state
    i, f, g, o = (gates + F.linear(hidden, weight_hh, bias_hh)).chunk(4, -1)
    cell = tw.sigmoid(f) * cell + tw.sigmoid(i) * tw.tanh(g)
    hidden = tw.sigmoid(o) * tw.tanh(cell)
    return (hidden if weight_hr is None else F.linear(hidden, weight_hr)), cell


def _gru_step(gates, state, weight_hh, bias_hh):
    (hidden,) = state
    input_r, input_z, input_n = gates.chunk(3, -1)
    hidden_r, hidden_z, hidden_n = F.linear(hidden, weight_hh, bias_hh).chunk(3, -1)
    z = tw.sigmoid(input_z + hidden_z)
    n = tw.tanh(input_n + tw.sigmoid(input_r + hidden_r) * hidden_n)
    return (n + z * (hidden - n),)


_MODES = {  # mode: (gates, step)
    "RNN_TANH": (1, _plain_step(tw.tanh)),
    "RNN_RELU": (1, _plain_step(tw.relu)),
    "LSTM": (4, _lstm_step),
    "GRU": (3, _gru_step),
}


# ---- all steps of one layer in one direction


def _run_forward(step, steps, state, weights):
    """Runs `step` over `steps`; sequences that end leave from the bottom of the state."""
    outputs, ended = [], []
    rows = len(state[0])
    for gates in steps:
        if len(gates) < rows:
            ended.append([part[len(gates) :] for part in state])
            rows = len(gates)
            state = [part[:rows] for part in state]
        state = step(gates, state, *weights)
        outputs.append(state[0])
    last = [tw.cat(parts) if ended else parts[0] for parts in zip(state, *reversed(ended))]
    return outputs, last


def _run_backward(step, steps, state, weights):
    """Runs `step` over `steps` from the last; longer sequences come first, so shorter ones join at the bottom."""
    outputs = []
    first, state = state, [part[: len(steps[-1])] for part in state]
    for gates in reversed(steps):
        rows = len(state[0])
        if len(gates) > rows:
            state = [tw.cat([part, start[rows : len(gates)]]) for part, start in zip(state, first)]
        state = step(gates, state, *weights)
        outputs.append(state[0])
    return outputs[::-1], list(state)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: the parameters of all layers and directions, and the run over them."""

    def __init__(
        self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
        bidirectional=False, proj_size=0, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_options()
        rows = _MODES[mode][0] * hidden_size
        state_size = proj_size or hidden_size
        self._names = []  # parameter names, one list per layer and direction
        for layer in range(num_layers):
            layer_input = input_size if layer == 0 else state_size * self._directions
            for suffix in ("", "_reverse")[: self._directions]:
                shapes = {"weight_ih": (rows, layer_input), "weight_hh": (rows, state_size)}
                if bias:
                    shapes.update(bias_ih=(rows,), bias_hh=(rows,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                self._names.append(names)
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(tw.empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def _check_options(self):
        name = type(self).__name__
        if self.mode not in _MODES:
            raise ValueError(f"{name}: a mode of {list(_MODES)} is wanted, got {self.mode!r}")
        for option in ("bias", "batch_first"):
            if not isinstance(getattr(self, option), bool):
                raise TypeError(f"{name}: {option} must be a bool, got {type(getattr(self, option)).__name__}")
        for option in ("input_size", "hidden_size", "num_layers"):
            value = getattr(self, option)
            if not isinstance(value, int):
                raise TypeError(f"{name}: {option} must be an int, got {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name}: a positive {option} is wanted, got {value}")
        if isinstance(self.dropout, bool) or not 0 <= self.dropout <= 1:
            raise ValueError(f"{name}: a dropout probability in [0, 1] is wanted, got {self.dropout}")
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(f"{name}: 0 <= proj_size < {self.hidden_size} is wanted, got {self.proj_size}")
        if self.proj_size and self.mode != "LSTM":
            raise ValueError(f"{name}: proj_size is for LSTM, got {self.proj_size}")

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self):
        """The parameters, one list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def reset_parameters(self):
        """Draws all parameters from U(-k, k), k = 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self):
        """Does nothing: parameters need not lie together here. Kept so that code written for PyTorch runs."""

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: 2 or 3 dims are wanted, got {input.dim()}")
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        length, batch = input.shape[0], input.shape[1]
        if length == 0:
            raise ValueError(f"{self._get_name()}: a sequence of at least one step is wanted, got {list(input.shape)}")
        state = self._initial_state(hx, input, batch, batched)
        rows, state = self._run(input.flatten(0, 1), [batch] * length, state)
        output = rows.unflatten(0, (length, batch))
        if not batched:
            return output.squeeze(1), self._pack_state([part.squeeze(1) for part in state])
        return (output.transpose(0, 1) if self.batch_first else output), self._pack_state(state)

    def _forward_packed(self, input, hx):
        batch_sizes = input.batch_sizes.tolist()
        state = self._initial_state(hx, input.data, batch_sizes[0], True)
        if hx is not None and input.sorted_indices is not None:
            state = [part.index_select(1, input.sorted_indices) for part in state]
        rows, state = self._run(input.data, batch_sizes, state)
        if input.unsorted_indices is not None:
            state = [part.index_select(1, input.unsorted_indices) for part in state]
        return input._replace(data=rows), self._pack_state(state)

    def _initial_state(self, hx, input, batch, batched):
        """[layers · directions, batch, size] for each part of the state: zeros, or hx checked."""
        if input.shape[-1] != self.input_size:
            raise ValueError(f"{self._get_name()}: input of size {self.input_size} is wanted, got {input.shape[-1]}")
        sizes = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        shapes = [(len(self._names), batch, size) for size in sizes]
        if hx is None:
            return [input.new_zeros(shape) for shape in shapes]
        parts = list(hx) if self.mode == "LSTM" else [hx]
        for part, shape in zip(parts, shapes):
            wanted = shape if batched else (shape[0], shape[2])
            if tuple(part.shape) != wanted:
                got = list(part.shape)
                raise ValueError(f"{self._get_name()}: a state of shape {list(wanted)} is wanted, got {got}")
        return parts if batched else [part.unsqueeze(1) for part in parts]

    def _pack_state(self, state):
        return tuple(state) if self.mode == "LSTM" else state[0]

    def _run(self, rows, batch_sizes, state):
        """All layers over `rows`; returns the last layer's rows and the final state."""
        _, step = _MODES[self.mode]
        final = []
        for layer in range(self.num_layers):
            directions = []
            for direction in range(self._directions):
                index = layer * self._directions + direction
                weight_ih, weight_hh, *rest = (getattr(self, name) for name in self._names[index])
                bias_ih, bias_hh = rest[:2] if self.bias else (None, None)
                steps = F.linear(rows, weight_ih, bias_ih).split(batch_sizes)
                run = _run_backward if direction else _run_forward
                weights = (weight_hh, bias_hh, *rest[2 if self.bias else 0 :])
                outputs, last = run(step, steps, [part[index] for part in state], weights)
                directions.append(tw.cat(outputs))
                final.append(last)
            rows = tw.cat(directions, -1) if self.bidirectional else directions[0]
            if self.dropout and layer < self.num_layers - 1:
                rows = F.dropout(rows, self.dropout, self.training)
        return rows, [tw.stack(parts) for parts in zip(*final)]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
            "proj_size": 0,
        }
        return text + "".join(f", {n}={getattr(self, n)}" for n, value in defaults.items() if getattr(self, n) != value)


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), layer on layer (Elman, 1990).

    Inputs: input [L, N, input_size], or [N, L, input_size] with batch_first, or [L, input_size], or a PackedSequence;
    hx [num_layers · D, N, hidden_size], default zeros; D is 2 when bidirectional. Result: output
    [L, N, D · hidden_size], in the input's form, and the final hx.

    Args:
        input_size, hidden_size, num_layers: the sizes.
        nonlinearity: "tanh" or "relu".
        bias: learn the two biases of each layer.
        batch_first: the batch is dim 0 of input and output.
        dropout: probability of dropout on each layer's output but the last's.
        bidirectional: add a second run over the reversed sequence.

    >>> import thalweg as tw
    >>> output, state = tw.nn.RNN(3, 4, num_layers=2)(tw.ones(5, 2, 3))
    >>> tuple(output.shape), tuple(state.shape)
    ((5, 2, 4), (2, 2, 4))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if kwargs.pop("proj_size", 0):
            raise ValueError("RNN: proj_size is for LSTM")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity 'tanh' or 'relu' is wanted, got {nonlinearity!r}")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """i, f, g, o = W_ih x + b_ih + W_hh h + b_hh; c' = σ(f) c + σ(i) tanh(g); h' = σ(o) tanh(c').

    Inputs, result and options are those of RNN, but hx is (h, c) and there is no nonlinearity; with proj_size the
    output and h are W_hr h', of that size (Hochreiter & Schmidhuber, 1997; Sak et al., 2014).

    >>> import thalweg as tw
    >>> output, (h, c) = tw.nn.LSTM(3, 4, bidirectional=True, batch_first=True)(tw.ones(2, 5, 3))
    >>> tuple(output.shape), tuple(h.shape)
    ((2, 5, 8), (2, 2, 4))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """r, z = σ(W_ih x + b_ih + W_hh h + b_hh); n = tanh(W_in x + b_in + r (W_hn h + b_hn)); h' = (1 - z) n + z h.

    Inputs, result and options are those of RNN, without nonlinearity (Cho et al., 2014).

    >>> import thalweg as tw
    >>> tuple(tw.nn.GRU(3, 4)(tw.ones(5, 3))[0].shape)
    (5, 4)
    """

    def __init__(self, *args, **kwargs):
        if kwargs.pop("proj_size", 0):
            raise ValueError("GRU: proj_size is for LSTM")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """The parameters and the checks of one step of a recurrent layer."""

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in {**shapes, "bias_ih": (rows,), "bias_hh": (rows,)}.items():
            wanted = bias or name in shapes
            self.register_parameter(name, Parameter(tw.empty(shape, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws all parameters from U(-k, k), k = 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _one_step(self, step, input, state):
        """Checks the shapes, makes a missing state zeros, and takes the step."""
        name = self._get_name()
        if input.dim() not in (1, 2) or input.shape[-1] != self.input_size:
            wanted = f"input [{self.input_size}] or [N, {self.input_size}]"
            raise ValueError(f"{name}: {wanted} is wanted, got {list(input.shape)}")
        shape = (*input.shape[:-1], self.hidden_size)
        if state is None:
            zeros = input.new_zeros(shape)
            state = (zeros,) * (2 if isinstance(self, LSTMCell) else 1)
        for part in state:
            if tuple(part.shape) != shape:
                raise ValueError(f"{name}: a state of shape {list(shape)} is wanted, got {list(part.shape)}")
        return step(F.linear(input, self.weight_ih, self.bias_ih), state, self.weight_hh, self.bias_hh)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """One step of RNN: input [N, input_size] and hx [N, hidden_size] (or both without N) to the new hx."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        mode = f"RNN_{self.nonlinearity.upper()}"
        if mode not in _MODES:
            raise ValueError(f"RNNCell: nonlinearity 'tanh' or 'relu' is wanted, got {self.nonlinearity!r}")
        return self._one_step(_MODES[mode][1], input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM: input [N, input_size] and (h, c), each [N, hidden_size], to the new (h, c)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._one_step(_lstm_step, input, hx)


class GRUCell(RNNCellBase):
    """One step of GRU: input [N, input_size] and hx [N, hidden_size] to the new hx."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._one_step(_gru_step, input, None if hx is None else (hx,))[0]
