"""A backend of ONNX that runs models node by node on thalweg's functions: `ThalwegBackend.prepare(model).run(inputs)`.

It takes part in onnx.backend.test like any other: `BackendTest(ThalwegBackend, __name__)`.
"""

import numpy as np
import onnx
import thalweg as tw
from onnx import helper, numpy_helper
from onnx.backend.base import Backend, BackendRep

from .onnx_ops.registry import OPS, Node, NotOffered

DOMAINS = ("", "ai.onnx", "ai.onnx.preview")


def to_tensor(array):
    """A NumPy array (or a scalar) as a tensor; lists of them stay lists."""
    if isinstance(array, (list, tuple)):
        return [to_tensor(a) for a in array]
    if isinstance(array, onnx.TensorProto):
        array = numpy_helper.to_array(array)
    if array is None or isinstance(array, tw.Tensor):
        return array
    array = np.asarray(array)
    if array.dtype.name == "bfloat16":
        return tw.tensor(array.view(np.int16)).view(tw.bfloat16)
    if not isinstance(getattr(tw, array.dtype.name, None), tw.dtype):
        raise NotOffered(f"dtype {array.dtype}")
    return tw.tensor(array)


def to_array(value):
    """The other way."""
    if isinstance(value, (list, tuple)):
        return [to_array(v) for v in value]
    if value.dtype == tw.bfloat16:
        import ml_dtypes

        return value.contiguous().view(tw.int16).numpy().view(ml_dtypes.bfloat16)
    return value.detach().contiguous().numpy()


def _attribute(proto):
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx.TensorProto):
        return to_tensor(numpy_helper.to_array(value))
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], bytes):
        return [v.decode(errors="replace") for v in value]
    return list(value) if not isinstance(value, (int, float, str, onnx.GraphProto)) else value


class Interpreter:
    """Runs graphs of one model."""

    def __init__(self, opset):
        self.opset = opset

    def run(self, graph, inputs, outer=()):
        """The outputs of a graph; names that it does not define are those of the graphs around it."""
        known = dict(outer)
        known.update((t.name, to_tensor(numpy_helper.to_array(t))) for t in graph.initializer)
        names = [i.name for i in graph.input]
        free = names if len(inputs) == len(names) else [n for n in names if n not in known]
        known.update(zip(free, (to_tensor(x) for x in inputs)))
        for node in graph.node:
            self._run_node(node, known)
        return [known[o.name] for o in graph.output]

    def _run_node(self, proto, known):
        if proto.domain not in DOMAINS or proto.op_type not in OPS:
            raise NotOffered(f"the operator {proto.domain}{'.' if proto.domain else ''}{proto.op_type}")
        attributes = {a.name: _attribute(a) for a in proto.attribute}
        outputs = list(proto.output)
        node = Node(proto.op_type, attributes, self.opset, outputs, lambda g, x: self.run(g, x, known))
        inputs = [known[name] if name else None for name in proto.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        results = OPS[proto.op_type](node, *inputs)
        results = results if isinstance(results, tuple) else (results,)  # a list is a sequence, one value
        known.update((name, value) for name, value in zip(outputs, results) if name)


class ThalwegRep(BackendRep):
    """A model ready to run."""

    def __init__(self, model):
        self.graph = model.graph
        self.interpreter = Interpreter(max((o.version for o in model.opset_import if o.domain in DOMAINS), default=1))

    def run(self, inputs, **kwargs):
        """The outputs as NumPy arrays."""
        with tw.no_grad():
            return tuple(to_array(v) for v in self.interpreter.run(self.graph, inputs))


class ThalwegBackend(Backend):
    """The entry point that onnx.backend.test asks for."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Whether every operator has a counterpart; dtypes and attributes show only in the run."""
        return all(n.domain in DOMAINS and n.op_type in OPS for n in model.graph.node)

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Checks nothing beyond what running shows."""
        return ThalwegRep(model)

    @classmethod
    def supports_device(cls, device):
        """The CPU."""
        return device == "CPU"
