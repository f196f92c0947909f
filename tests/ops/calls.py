"""The calls of registered ops that a function and its gradient are made of, with the tensors that each was given.

The function is traced, and the text of the graph run line by line: that names hidden ops too, those of gradients.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import thalweg as tw
from thalweg._registry import ops
from thalweg.jit.trace import Trace

OpCall = tuple[Any, list, dict]
DTYPES = {name: value for name, value in vars(tw).items() if isinstance(value, tw.dtype)}
NAMES = {**DTYPES, "inf": float("inf"), "nan": float("nan"), "__builtins__": {}}
REGISTRY = {info["name"]: info for info in tw._core._native.registry()}
NODE = re.compile(r"(?:((?:%\d+(?:, )?)+) = )?(\w+)\(")
LEAF = re.compile(r"(input|variable|constant) %(\d+) ")


def calls_of(function: Callable, args: list, kwargs: dict, grad: bool) -> Iterator[OpCall]:
    """Each op call; the function itself where it is a registered op, then what the trace holds."""
    if hasattr(function, "signatures") and not REGISTRY[function.__name__]["composite"]:
        yield function, args, kwargs
    try:
        text, leaves = _traced(function, args, kwargs, grad)
    except (RuntimeError, NotImplementedError):  # what depends on data has no graph
        return
    values = {}
    for line in text.splitlines():
        line = line.strip()
        if leaf := LEAF.match(line):
            values[int(leaf[2])] = leaves[leaf[1]].pop(0)
        elif line.endswith("{") and not line.startswith("graph "):
            return  # control flow: its regions are not run here
        elif node := NODE.match(line):
            op, kwargs = getattr(ops, node[2]), _arguments(node[2], line[node.end() :], values)
            if not REGISTRY[node[2]]["kernels"] and not REGISTRY[node[2]]["view"]:
                return
            yield op, [], kwargs
            results = run_whole(op, kwargs)
            for number, result in zip(re.findall(r"%(\d+)", node[1] or ""), results, strict=True):
                values[int(number)] = result


def run_whole(op: Any, kwargs: dict) -> list:
    """All outputs of the op, the hidden ones too."""
    tensors = []
    for name, type_text in REGISTRY[op.__name__]["params"]:
        if type_text.startswith("Tensor"):
            tensors += kwargs[name] if "[]" in type_text else [kwargs[name]]
    return list(op.on_shard(tensors, None, None, None, **kwargs))


def _traced(function: Callable, args: list, kwargs: dict, grad: bool) -> tuple[str, dict[str, list]]:
    """The graph's text and the tensors of its leaves by kind."""
    inputs: list[tw.Tensor] = []
    with Trace("sample") as trace:

        def symbolic(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(symbolic(v) for v in value)
            if not isinstance(value, tw.Tensor):
                return value
            inputs.append(value)
            given = trace.tracer.add_input(f"input {len(inputs)}", value.contiguous())
            return given.requires_grad_() if grad and value.dtype.is_floating_point else given

        new_args, new_kwargs = symbolic(list(args)), {k: symbolic(v) for k, v in kwargs.items()}
        wanted = [t for t in _tensors([new_args, list(new_kwargs.values())]) if t.requires_grad]
        roots = [t for t in _tensors([function(*new_args, **new_kwargs)]) if t.requires_grad]
        if roots and wanted:
            tw.autograd.grad(roots, wanted, [tw.ones_like(t) for t in roots], allow_unused=True)
        text = trace.tracer.graph_text()
        leaves = {"input": inputs, "variable": trace.tracer.variables, "constant": trace.tracer.constants}
    return text, leaves


def _tensors(value: Any) -> list[tw.Tensor]:
    if isinstance(value, tw.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _arguments(op: str, text: str, values: dict) -> dict:
    """What stands before the closing parenthesis, by name: tensors in the schema's order, then name=value."""
    parts = list(_split(text))
    names = [name for name, type_text in REGISTRY[op]["params"] if type_text.startswith("Tensor")]
    arguments = {}
    for i, part in enumerate(parts):
        name, part = (names[i], part) if i < len(names) else part.split("=", 1)
        code = re.sub(r"%(\d+)", r"value(\1)", part) if i < len(names) else part
        arguments[name] = eval(code, {**NAMES, "value": values.__getitem__})
    return arguments


def _split(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets and no string, up to a closing parenthesis."""
    depth, start, quoted, i = 0, 0, False, 0
    while depth >= 0:
        c = text[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        if (c == "," and depth == 0 and not quoted) or depth < 0:
            if text[start:i].strip():
                yield text[start:i].strip()
            start = i + 1
        i += 1
