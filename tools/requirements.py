"""Prints the packages that pyproject.toml asks for, one a line: `requirements.py [build] [run] [cuda] [EXTRA...]`.

cuda: what cuda/pyproject.toml needs to build thalweg-cuda.

The Makefile installs them before it builds without isolation, so pyproject.toml stays the only list.
"""

import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: pip carries the same parser
    from pip._vendor import tomli as tomllib


def read(folder: Path) -> dict:
    """The pyproject.toml of a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(pyproject: dict, cuda: dict, names: list[str]) -> list[str]:
    """The requirements of the named lists; an extra that names thalweg's own extras is expanded."""
    extras = pyproject["project"]["optional-dependencies"]
    found: list[str] = []
    for name in names:
        if name == "build":
            listed = pyproject["build-system"]["requires"]
        elif name == "cuda":
            listed = cuda["build-system"]["requires"]
        elif name == "run":
            listed = pyproject["project"]["dependencies"]
        elif name in extras:
            listed = extras[name]
        else:
            raise KeyError(f"requirements: wanted build, run, cuda or one of {sorted(extras)}, got {name}")
        for item in listed:
            own = re.fullmatch(r"thalweg\[(.+)\]", item)
            found += requirements(pyproject, cuda, own[1].split(",")) if own else [item]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    print("\n".join(requirements(read(root), read(root / "cuda"), sys.argv[1:])))
