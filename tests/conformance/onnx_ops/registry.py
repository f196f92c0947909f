"""Where ONNX operators register, and what they see of a node."""

import unittest

import thalweg as tw

# TensorProto.DataType -> thalweg's dtype; the others (unsigned beyond 8 bits, 8-bit floats, strings) it does not have.
DTYPES = {
    1: tw.float32, 2: tw.uint8, 3: tw.int8, 5: tw.int16, 6: tw.int32, 7: tw.int64, 9: tw.bool, 10: tw.float16,
    11: tw.float64, 14: tw.complex64, 15: tw.complex128, 16: tw.bfloat16,
}  # fmt: skip
OPS = {}


class NotOffered(unittest.SkipTest):
    """What the node asks for has no counterpart in thalweg; the message says what."""


def op(*names):
    """Registers function(node, *inputs) for ONNX operators; absent inputs are None, results a tensor or a tuple.

    A list is a sequence, one value.
    """

    def register(function):
        for name in names:
            if name in OPS:
                raise ValueError(f"{name} is registered twice")
            OPS[name] = function
        return function

    return register


def simple(table):
    """Registers functions that take the inputs and nothing else, under the names of a table."""
    for name, function in table.items():
        op(name)(lambda node, *inputs, _function=function: _function(*inputs))


class Node:
    """An operator's name, attributes as Python values, opset version and the number of outputs somebody wants."""

    def __init__(self, op_type, attributes, opset, outputs, run_graph=None):
        self.op_type, self.opset, self.outputs, self.run_graph = op_type, opset, outputs, run_graph
        self._attributes = attributes

    def get(self, name, default=None):
        return self._attributes.get(name, default)

    def wants(self, index):
        return index < len(self.outputs) and bool(self.outputs[index])

    def refuse(self, name, *allowed):
        """Raises NotOffered unless an attribute is unset or one of the allowed values."""
        value = self.get(name)
        if value is not None and value not in allowed:
            raise NotOffered(f"{self.op_type} with {name}={value}")


def dtype(number):
    if number not in DTYPES:
        raise NotOffered(f"dtype number {number}")
    return DTYPES[number]


def ints(x):
    """A tensor of integers, or None, as a list."""
    return None if x is None else [int(i) for i in x.reshape(-1).tolist()]
