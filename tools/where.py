"""Prints every file where an op lives: `where.py gelu` lists definition, formulas, kernels, tests and more.

An op is found by its registration, `op("gelu(...` in a definition, `add("gelu"` in a kernel file or `ops.floats("gelu"`
in a list of formulas, so ops that share a file are found too. Other places are those that name the op as a word.
"""

import re
import sys
from pathlib import Path

TEXT_FILES = {".cc", ".h", ".cu", ".py", ".pyx", ".pxi", ".pyi", ".md"}
# heading: folders and the pattern that a file must hold; NAME stands for the op
PLACES = {
    "definition": (["cpp/ops"], r'\bop(_with<\w+>)?\(\s*"NAME\('),
    "kernel": (["cpp/ops", "cuda/ops"], r'\b(add|ops\.(template )?\w+(<\w+>)?)\(\s*"NAME"'),
    "used by": (["cpp"], r'\bops?<"NAME">'),
    "python": (["python"], r"\bNAME\b"),
    "tests": (["tests"], r"\bNAME\b"),
    "docs": (["docs"], r"\bNAME\b"),
}


def files_of(root: Path, folders: list[str]) -> list[Path]:
    found = [path for folder in folders for path in (root / folder).rglob("*") if path.suffix in TEXT_FILES]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def places(root: Path, op: str) -> dict[str, list[str]]:
    """`file:line` of the op under each heading that has any; the first line of a file that fits."""
    found: dict[str, list[str]] = {}
    for heading, (folders, pattern) in PLACES.items():
        wanted = re.compile(pattern.replace("NAME", re.escape(op)))
        for path in files_of(root, folders):
            text = path.read_text(encoding="utf-8")
            if match := wanted.search(text):
                line = text.count("\n", 0, match.start()) + 1
                found.setdefault(heading, []).append(f"{path.relative_to(root).as_posix()}:{line}")
    # Attributes and formulas stand in headers of the definition's stem.
    for place in found.get("definition", []):
        stem = (root / place.rpartition(":")[0]).with_suffix("")
        for heading, ending in (("attributes", ".h"), ("formulas", "_formula.h")):
            header = Path(f"{stem}{ending}")
            if header.is_file():
                found.setdefault(heading, []).append(f"{header.relative_to(root).as_posix()}:1")
    return found


def main(root: Path, op: str) -> int:
    found = places(root, op)
    if "definition" not in found:
        print(f"where: no op is named {op}; cpp/ops has no registration of it", file=sys.stderr)
        return 1
    for heading in ["definition", "attributes", "formulas", *(name for name in PLACES if name != "definition")]:
        for place in found.get(heading, []):
            print(f"{heading:<11} {place}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: where.py OP")
    sys.exit(main(Path(__file__).resolve().parent.parent, sys.argv[1]))
