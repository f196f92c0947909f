"""Second names of registered ops."""

from thalweg._core import _native
from thalweg._core._tensor import op
from thalweg._registry import export

# second name: op. It appears wherever the op does, in place too.
ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
}


def _export_aliases() -> None:
    exposed = {info["name"]: info["exposed"] for info in _native.registry()}
    for alias, name in ALIASES.items():
        if name not in exposed:
            raise RuntimeError(f"aliases: {alias} stands for {name}, which is no op")
        function, method = "function" in exposed[name], "method" in exposed[name]
        export(function=function, method=method, name=alias)(op(name))
        if "inplace" in exposed[name]:
            export(function=function, method=True, name=alias + "_")(op(name, True))


_export_aliases()
