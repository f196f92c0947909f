"""ONNX's node and model tests through thalweg, a unit for each operator; see onnx_backend.py.

A test whose dtypes, attributes or operators thalweg lacks is skipped; an operator with no other tests is not offered.
"""

import functools
import os
import re
import time
import warnings
from collections import Counter

import numpy as np

from .outcome import Rejected
from .result import Result, perform

CHECKS = ("run",)
# Models that torch once exported, small composed models, and networks whose weights are constants.
HALF_EPS = {"float16": 2**-10, "bfloat16": 2**-7}
MODELS = ("simple", "pytorch-converted", "pytorch-operator", "real")


@functools.cache
def database():
    """{unit: test cases}: onnx.Add and so on; expanded forms belong to the operator that they expand."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        nodes = load_model_tests(kind="node")
        models = {kind: _models(load_model_tests(kind=kind)) for kind in MODELS}
    operator = {c.name: c.model.graph.node[0].op_type for c in nodes if len(c.model.graph.node) == 1}
    units = {}
    for case in nodes:
        base = re.sub(r"_expanded.*$", "", case.name)
        units.setdefault(f"onnx.{operator.get(case.name) or operator.get(base) or 'composed'}", []).append(case)
    return dict(sorted(units.items())) | {f"onnx.{kind}": cases for kind, cases in models.items()}


def _models(cases):
    return [c for c in cases if c.model is not None or c.model_dir is not None or _light_files(c)]


def _light_files(case):
    """The files of a network that the package carries, or None."""
    from onnx.backend.test.loader import DATA_DIR

    if case.url is None or "/light/" not in case.url:
        return None
    stem = os.path.join(DATA_DIR, "light", os.path.basename(case.url).removesuffix(".onnx"))
    return stem if os.path.exists(stem + ".onnx") else None


def _load(case):
    """(model, [(inputs, outputs)])."""
    import onnx
    from onnx import numpy_helper

    if case.model is not None:
        return case.model, case.data_sets
    stem = _light_files(case)
    path = stem + ".onnx" if stem else os.path.join(case.model_dir, "model.onnx")
    model = onnx.load(path)

    def read(path, info):
        with open(path, "rb") as f:
            data = f.read()
        if info.type.WhichOneof("value") == "sequence_type":
            sequence = onnx.SequenceProto()
            sequence.ParseFromString(data)
            return numpy_helper.to_list(sequence)
        tensor = onnx.TensorProto()
        tensor.ParseFromString(data)
        return numpy_helper.to_array(tensor)

    if stem:
        given = {t.name for t in model.graph.initializer}
        inputs = [_ramp(i) for i in model.graph.input if i.name not in given]
        return model, [(inputs, [read(stem + "_output_0.pb", model.graph.output[0])])]
    sets = []
    for folder in sorted(p for p in os.listdir(case.model_dir) if p.startswith("test_data_set")):
        place = os.path.join(case.model_dir, folder)
        pairs = (("input", model.graph.input), ("output", model.graph.output))
        files = {kind: sorted(f for f in os.listdir(place) if f.startswith(kind)) for kind, _ in pairs}
        order = {kind: sorted(names, key=lambda n: int(re.findall(r"\d+", n)[0])) for kind, names in files.items()}
        sets.append([[read(os.path.join(place, f), info) for f, info in zip(order[k], i)] for k, i in pairs])
    return model, sets


def _ramp(info):
    """What the package's own runner feeds its networks: numbers from 0 to 1 in order."""
    shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
    size = int(np.prod(shape))
    return (np.arange(size).reshape(shape) / size).astype(np.float32)


def demanded(unit):
    """Whether thalweg has the operator, whose tests then may not all be skipped; models have all they need."""
    from .onnx_ops.registry import OPS

    name = unit.removeprefix("onnx.")
    return name in OPS or name in MODELS


def check(case):
    """None, or where thalweg's outputs differ beyond the case's own tolerances."""
    from .onnx_backend import ThalwegBackend
    from .onnx_ops.registry import NotOffered

    model, sets = _load(case)
    for inputs, wanted in sets:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = ThalwegBackend.prepare(model).run(inputs)
        except NotOffered as e:
            raise Rejected(str(e)) from None
        for index, (want, got) in enumerate(zip(wanted, found)):
            message = differs(want, got, case.rtol, case.atol)
            if message:
                return f"output {index}: {message}"
    return None


def differs(want, got, rtol, atol):
    """None, or what differs between one output and the case's."""
    if isinstance(want, (list, tuple)):
        pairs = zip(want, got)
        return (
            next((m for w, g in pairs if (m := differs(w, g, rtol, atol))), None) if len(want) == len(got) else "length"
        )
    want = _array(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"want {want.dtype}{list(want.shape)}, got {got.dtype}{list(got.shape)}"
    kind = complex if want.dtype.kind == "c" else float
    a, b = want.astype(kind), got.astype(kind)
    # The cases of half types are rounded at every step: two of their last digits are granted.
    rtol = max(rtol, 2 * HALF_EPS.get(want.dtype.name, 0))
    close = np.isclose(b, a, rtol, max(atol, rtol * 0.1 if want.dtype.name in HALF_EPS else 0), equal_nan=True)
    if close.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"value: {int((~close).sum())} of {want.size} wrong, first at {list(place)}: want {a[place]}, got {b[place]}"


def _array(value):
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def run(unit):
    """All tests of one operator, with the reasons of those that are skipped."""
    result = Result(unit, demanded(unit))
    start = time.perf_counter()
    reasons = Counter()

    def counted(case):
        try:
            return check(case)
        except Rejected as e:
            reasons[str(e)] += 1
            raise

    for index, case in enumerate(database()[unit]):
        perform(result, "-", index, case, {"run": counted}, lambda c: c.name, "run")
    result.skipped = dict(reasons.most_common())
    if result.samples and reasons.total() == result.samples:
        result.missing = "; ".join(list(result.skipped)[:3])
    result.seconds = time.perf_counter() - start
    return result
