"""The op registry as the tools see it: the dicts of `thalweg._core._native.registry()` and the schemas in them.

Each dict has: name, schema (its text), doc, family, has_grad, no_grad_reason, has_sbp, has_cost, has_infer, composite,
view, kernels (the backends that have one), exposed (function, method, nn.functional, inplace, linalg, special), outputs
(the names of those that Python returns).
"""

import importlib
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Op = dict[str, Any]


def load(module_dir: Path | None = None) -> list[Op]:
    """The registry of the thalweg that Python imports, or of the `_native` module in `module_dir`, sorted by name."""
    if module_dir is not None:
        # During a build the package around the modules need not be importable yet: bare ones stand for it.
        for name, folder in (("thalweg", module_dir.parent), ("thalweg._core", module_dir)):
            package = types.ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package
    native = importlib.import_module("thalweg._core._native")
    return sorted(native.registry(), key=lambda op: op["name"])


@dataclass(frozen=True)
class Param:
    name: str
    type: str  # of the schema: "Tensor?", "int[2]"
    default: str | None  # a Python literal
    keyword_only: bool
    variadic: bool


@dataclass(frozen=True)
class Schema:
    name: str
    params: list[Param]
    outputs: list[tuple[str, str]]  # (type, name or "")


def split_commas(text: str) -> list[str]:
    """Splits at the commas outside brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, char in enumerate(text):
        quoted ^= char == '"'
        if not quoted:
            depth += (char in "([") - (char in ")]")
            if char == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def parse_schema(text: str) -> Schema:
    """`gelu(Tensor input, *, str approximate="none") -> Tensor` taken apart; ValueError when it is malformed."""
    match = re.fullmatch(r"\s*(\w+)\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if not match:
        raise ValueError(f"schema: wanted name(parameters) -> outputs, got {text}")
    name, inside, result = match.groups()
    params, keyword_only = [], False
    for part in split_commas(inside):
        if part == "*":
            keyword_only = True
            continue
        declared, _, default = part.partition("=")
        pieces = declared.split()
        if len(pieces) != 2:
            raise ValueError(f"schema: wanted a type and a name, got {part} in {text}")
        variadic = pieces[0].endswith("...")
        params.append(Param(pieces[1], pieces[0].removesuffix("..."), default.strip() or None, keyword_only, variadic))
    outputs = []
    for part in split_commas(result[1:-1] if result.startswith("(") else result):
        kind, _, label = part.partition(" ")
        outputs.append((kind, label.strip()))
    return Schema(name, params, outputs)
