"""Checks that every op of the registry is complete. Exits 1 with one line for each missing part.

An op needs: a doc; inference; a kernel for the CPU unless it is a composite or a view, and one for CUDA where the CPU
has one; a gradient, or in its definition the reason why it has none; an SBP rule; a cost; and a test under tests/ops
that names it. What an op lacks on purpose stands in REASONS and, on CUDA, in ON_THE_CPU_ALONE. A kernel without a
definition is an error too, and so is a reason for what is there.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from cpu_alone import ON_THE_CPU_ALONE
from op_registry import Op, load

# (op, part): why the op has no such part
_CONTROL = "its regions are plans of their own, which the runtime runs"
REASONS: dict[tuple[str, str], str] = {(op, part): _CONTROL for op in ("cond", "loop") for part in ("kernel", "sbp")}
REASONS["boxing_part", "kernel"] = "ranks meet in it: boxing moves its data, no kernel"
for _op in ("take_part", "join_parts"):
    REASONS[_op, "kernel"] = "they are gone when a graph is cut into those of the processes"


def functions_named(prefix: str, path: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each void function of a source whose name begins so."""
    pattern = rf"^void ({prefix}\w+)\((?:[^\n]*\}}$|[\s\S]*?^\}})"
    for found in re.finditer(pattern, path.read_text(encoding="utf-8"), re.M):
        yield found[1], found[0]


def listed_ops(root: Path) -> dict[str, set[str]]:
    """The ops of each list add_<stem> of a <stem>_formula.h, of which both devices make kernels."""
    return {
        name: set(re.findall(r'"(\w+)"', text))
        for path in (root / "cpp" / "ops").rglob("*_formula.h")
        for name, text in functions_named("add_", path)
    }


def cuda_kernels(root: Path) -> set[str]:
    """The ops that the registering functions of cuda/ops and cuda/comm name, or that the lists have which they take."""
    found: set[str] = set()
    lists = listed_ops(root)
    for path in (root / "cuda").rglob("*.cu"):
        for _, text in functions_named("kernels_", path):
            found.update(re.findall(r'"(\w+)"', text))
            found.update(*(lists[name] for name in re.findall(r"\b(add_\w+)\(", text)))
    return found


def cuda_problems(ops: list[Op], on_cuda: set[str]) -> list[str]:
    """Ops with a kernel for the CPU alone that have no reason, and reasons that nothing needs."""
    alone = {op["name"] for op in ops if "cpu" in op["kernels"]} - on_cuda
    problems = [f"{name}: no kernel for CUDA" for name in sorted(alone - set(ON_THE_CPU_ALONE))]
    return problems + [f"ON_THE_CPU_ALONE: {name} is not" for name in sorted(set(ON_THE_CPU_ALONE) - alone)]


def missing_parts(op: Op, tested: set[str]) -> list[str]:
    """The names of the parts that the op lacks."""
    derived = op["composite"]  # gradient, SBP and cost come from the expansion
    parts = {
        "doc": bool(op["doc"].strip()),
        "inference": op["has_infer"] or derived,
        "kernel": "cpu" in op["kernels"] or derived or op["view"],
        "gradient": op["has_grad"] or derived or bool(op["no_grad_reason"].strip()),
        "sbp": op["has_sbp"] or derived,
        "cost": op["has_cost"] or derived,
        "test": bool(tested & public_names(op)) or not op["exposed"],
    }
    return [part for part, present in parts.items() if not present and (op["name"], part) not in REASONS]


def public_names(op: Op) -> set[str]:
    """What users call the op: name, name_ in place, without the prefix of the namespace it is in."""
    name = op["name"]
    return {name, f"{name}_", name.removeprefix("linalg_"), name.removeprefix("special_")}


def words_of_tests(root: Path) -> set[str]:
    """Every word in the Python tests of ops."""
    words: set[str] = set()
    for path in (root / "tests" / "ops").rglob("*.py"):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return words


def kernels_without_definition(root: Path, names: set[str]) -> list[str]:
    problems = []
    for path in sorted((root / "cpp" / "ops").rglob("*_cpu.cc")):
        for name in re.findall(r'\.add\(\s*"(\w+)"', path.read_text(encoding="utf-8")):
            if name not in names:
                problems.append(f"{path.relative_to(root)}: a kernel for {name}, which no file defines")
    for place, listed in listed_ops(root).items():
        problems += [f"{place}: a kernel for {name}, which no file defines" for name in sorted(listed - names)]
    return problems


def check(ops: list[Op], root: Path) -> list[str]:
    if not ops:
        return ["the registry is empty: nothing was checked"]
    tested = words_of_tests(root)
    problems = [f"{op['family']}/{op['name']}: no {part}" for op in ops for part in missing_parts(op, tested)]
    names = {op["name"] for op in ops}
    problems += [f"REASONS: {name}, {part}: no such op" for name, part in REASONS if name not in names]
    problems += cuda_problems(ops, cuda_kernels(root))
    return problems + kernels_without_definition(root, names)


def main() -> int:
    ops = load()
    problems = check(ops, Path(__file__).resolve().parent.parent)
    print("\n".join(problems) or f"ops: {len(ops)} ops are complete")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
