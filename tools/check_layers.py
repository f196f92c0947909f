"""Checks who may include or import whom, against the table of docs/architecture.md. Exits 1 with one line a problem.

In C++ each folder of cpp/ may include itself and the folders that `MAY_USE` names. cpp/ops holds two kinds of file:
kernels (`*_cpu.cc`, `*_cpu.h`) and definitions (the rest). What either kind reaches, headers of headers included, may
hold nothing of the other side: a definition never sees `device`, a kernel never sees `ir` or `sbp`. Formulas
(`*_formula.h`), which kernels of both devices include, reach `base`, attributes and formulas alone.
cuda/ includes itself, base, comm, the interfaces of device and the attributes of ops (headers of cpp/ops that are no
kernel's); the emulator of tests/cuda from cuda/common alone, and cpp/ nothing of cuda/.
In Python nothing is imported inside a function, and imports at module level have no cycle.
Nothing is named utils outside cpp/base, except `nn.utils` and `thalweg.utils`, PyTorch's names.
"""

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

BELOW_SESSION = {
    "eager",
    "runtime",
    "planner",
    "passes",
    "boxing",
    "comm",
    "ops",
    "ir",
    "plan",
    "sbp",
    "machine",
    "device",
}
MAY_USE = {
    "base": set(),
    "device": set(),
    "machine": set(),
    "sbp": set(),
    "plan": set(),
    "ir": {"sbp"},
    "ops": {"ir", "sbp", "device"},  # narrowed by kind below
    "comm": {"device"},
    "boxing": {"comm", "device", "sbp"},
    "passes": {"ops", "ir", "sbp", "machine"},
    "planner": {"plan", "ops", "ir", "sbp", "machine"},
    "runtime": {"plan", "boxing", "comm", "device"},
    "eager": {"boxing", "comm", "ops", "ir", "sbp", "device"},
    "session": BELOW_SESSION,
}
DEFINITION_NEVER_SEES = {"device"}
KERNEL_NEVER_SEES = {"ir", "sbp"}
FORMULA_NEVER_SEES = DEFINITION_NEVER_SEES | KERNEL_NEVER_SEES
PYTHON_HEADERS = ("Python.h", "pybind11/")
NAMED_UTILS = (
    "cpp/base/",
    "python/thalweg/nn/utils",
    "tests/python/nn/utils",
    "python/thalweg/utils",
    "tests/python/utils",
)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
TYPE = re.compile(r"^(?:struct|class) (\w+)(?: final)?(?: : [^{;]*)? \{", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path: Path) -> Iterator[tuple[int, str, str]]:
    """(line number, '"' or '<', what is included) of a C++ file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]


def is_kernel(name: str) -> bool:
    return name.endswith(("_cpu.cc", "_cpu.h"))


def is_formula(name: str) -> bool:
    return name.endswith("_formula.h")


def reached(path: Path, cpp: Path, seen: set[str]) -> set[str]:
    """Every header of cpp/ that `path` includes, through others too; paths relative to cpp/."""
    for _, kind, target in includes(path):
        if kind == '"' and target not in seen and (cpp / target).is_file():
            seen.add(target)
            reached(cpp / target, cpp, seen)
    return seen


def check_direct(path: Path, cpp: Path) -> Iterator[str]:
    """Includes of one file that its folder may not have."""
    folder = path.relative_to(cpp).parts[0]
    for number, kind, target in includes(path):
        where = f"{path.relative_to(cpp.parent)}:{number}"
        if target.startswith(PYTHON_HEADERS):
            yield f"{where}: cpp/ includes {target}; only the binding may"
        if kind != '"':
            continue
        if not (cpp / target).is_file():
            yield f"{where}: {target} is not a file of cpp/; includes are written from there"
            continue
        used = Path(target).parts[0]
        if used not in MAY_USE[folder] | {folder, "base"}:
            yield f"{where}: {folder} may not include {target}"
        if used == "ops" and folder != "ops" and is_kernel(target):
            yield f"{where}: {folder} may include definitions of ops, not kernels: {target}"


def check_op(path: Path, cpp: Path) -> Iterator[str]:
    """What a source or a formula of cpp/ops reaches from the other side of the wall."""
    kernel = is_kernel(path.name)
    if is_formula(path.name):
        kind, never = "a formula", FORMULA_NEVER_SEES
    elif kernel:
        kind, never = "a kernel", KERNEL_NEVER_SEES
    else:
        kind, never = "a definition", DEFINITION_NEVER_SEES
    for target in sorted(reached(path, cpp, set())):
        if Path(target).parts[0] in never or (not kernel and is_kernel(target)):
            yield f"{path.relative_to(cpp.parent)}: {kind} reaches {target}"


def check_cpp(root: Path) -> list[str]:
    cpp = root / "cpp"
    problems: list[str] = []
    for path in sorted([*cpp.rglob("*.h"), *cpp.rglob("*.cc")]):
        folder = path.relative_to(cpp).parts[0]
        if folder not in MAY_USE:
            problems.append(f"cpp/{folder}: not a folder of the table in tools/check_layers.py")
            continue
        problems += check_direct(path, cpp)
        if folder == "ops" and (path.suffix == ".cc" or is_formula(path.name)):
            problems += check_op(path, cpp)
    return problems


def check_cuda(root: Path) -> list[str]:
    """What the CUDA library includes: paths from the root (cuda/...) or from cpp/."""
    problems = []
    paths = [path for ending in ("*.h", "*.cc", "*.cu") for path in (root / "cuda").rglob(ending)]
    for path in sorted(paths):
        common = path.relative_to(root / "cuda").parts[0] == "common"
        for number, kind, target in includes(path):
            where = f"{path.relative_to(root)}:{number}"
            if kind != '"':
                continue
            in_cpp = (root / "cpp" / target).is_file()
            allowed = target.startswith("cuda/") or (common and target.startswith("tests/cuda/emulator/"))
            if in_cpp:
                folder, *rest = Path(target).parts
                interface = folder in ("base", "comm") or (folder == "device" and len(rest) == 1)
                allowed = interface or (folder == "ops" and target.endswith(".h") and not is_kernel(target))
            if not allowed or not (in_cpp or (root / target).is_file()):
                problems.append(f"{where}: cuda may not include {target}")
    return problems


def check_types(root: Path) -> list[str]:
    """Types that two headers define under one name: linked together, either may get the other's functions."""
    defined: dict[str, Path] = {}
    problems = []
    for path in sorted((root / "cpp").rglob("*.h")):
        text = path.read_text(encoding="utf-8")
        namespace = (NAMESPACE.search(text) or ["", ""])[1]
        for name in TYPE.findall(text):
            first = defined.setdefault(f"{namespace}::{name}", path)
            if first != path:
                places = f"{first.relative_to(root)} and {path.relative_to(root)}"
                problems.append(f"{places}: both define {namespace}::{name}")
    return problems


def module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run at import: those of the module, of its classes and of its if, try and with blocks."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_type_checking(node):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from module_level(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from module_level(handler.body)


def targets(node: ast.stmt, module: str, is_package: bool, modules: set[str]) -> set[str]:
    """The modules of thalweg that one import statement names."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & modules
    if not isinstance(node, ast.ImportFrom):
        return set()
    base = node.module or ""
    if node.level:
        package = module.split(".") if is_package else module.split(".")[:-1]
        package = package[: len(package) - node.level + 1]
        base = ".".join([*package, *([node.module] if node.module else [])])
    found = set()
    for alias in node.names:
        submodule = f"{base}.{alias.name}"
        found.add(submodule if submodule in modules else base)
    return found & modules


def check_python(root: Path) -> list[str]:
    source = root / "python"
    files = sorted(source.rglob("*.py"))
    modules = {module_name(path, source) for path in files}
    graph: dict[str, set[str]] = {}
    problems = []
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    problems.append(f"{path.relative_to(root)}:{node.lineno}: import inside {function.name}()")
        name = module_name(path, source)
        is_package = path.name == "__init__.py"
        graph[name] = set()
        for node in module_level(tree.body):
            graph[name] |= targets(node, name, is_package, modules) - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        problems.append("python: imports in a cycle: " + " -> ".join(reversed(error.args[1])))
    return problems


def check_names(root: Path) -> list[str]:
    problems = []
    for path in [path for top in ("cpp", "python", "cuda", "tools", "tests") for path in (root / top).rglob("*")]:
        place = path.relative_to(root).as_posix()
        if re.search(r"(^|_)utils?$", path.stem) and not place.startswith(NAMED_UTILS):
            problems.append(f"{place}: nothing is named utils outside cpp/base; name it after what it does")
    return problems


def main(root: Path) -> int:
    problems = check_cpp(root) + check_cuda(root) + check_types(root) + check_python(root) + check_names(root)
    print("\n".join(problems) or "layers: in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent))
