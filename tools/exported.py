"""The composites that the package exports with `@export(...)`, read from its sources: no import, no execution."""

import ast
import copy
from dataclasses import dataclass
from pathlib import Path

PLACES = {"function": "function", "method": "method", "nn": "nn.functional", "linalg": "linalg", "special": "special"}
# What stubs may name; an annotation with any other name becomes Any.
KNOWN_NAMES = {
    "Any",
    "Callable",
    "None",
    "Sequence",
    "Tensor",
    "bool",
    "complex",
    "dict",
    "dtype",
    "float",
    "int",
    "list",
    "object",
    "str",
    "tuple",
}


@dataclass(frozen=True)
class Composite:
    name: str
    places: tuple[str, ...]
    node: ast.FunctionDef

    def signature(self, method: bool) -> str:
        """One `def` line for a stub."""
        arguments = copy.deepcopy(self.node.args)
        for argument in [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]:
            if argument is not None:
                argument.annotation = _plain(argument.annotation)
        if method and arguments.args:
            arguments.args[0].arg, arguments.args[0].annotation = "self", None
        result = _plain(self.node.returns)
        return f"def {self.name}({ast.unparse(arguments)}) -> {ast.unparse(result) if result else 'Any'}: ..."


def _plain(annotation: ast.expr | None) -> ast.expr | None:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    if annotation is None:
        return None
    names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return annotation if names <= KNOWN_NAMES else ast.Name("Any")


def _export_call(node: ast.FunctionDef) -> ast.Call | None:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", None) == "export":
            return decorator
    return None


def composites(package: Path) -> list[Composite]:
    """Every exported composite below `package`, sorted by name."""
    found = []
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef) or (call := _export_call(node)) is None:
                continue
            given = {k.arg: getattr(k.value, "value", None) for k in call.keywords}
            places = tuple(place for key, place in PLACES.items() if given.get(key))
            found.append(Composite(given.get("name") or node.name, places, node))
    return sorted(found, key=lambda c: c.name)
