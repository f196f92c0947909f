"""Runs the examples in the docstrings of every module of thalweg, in the README and in docs/global_tensors.md. Exits 1
when one fails or none was found.
"""

import doctest
import importlib
import pkgutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "global_tensors.md")


def module_names(package: str) -> list[str]:
    """The package and all modules below it, but for __main__, which runs a program, and libraries (lib*.so)."""
    root = importlib.import_module(package)
    found = [module.name for module in pkgutil.walk_packages(root.__path__, f"{package}.")]
    return [package, *(name for name in found if not name.rpartition(".")[2].startswith(("__main__", "lib")))]


def main(package: str = "thalweg") -> int:
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    tried = failed = 0
    for name in module_names(package):
        module = importlib.import_module(name)
        result = doctest.testmod(module, extraglobs={"tw": importlib.import_module(package)}, optionflags=options)
        tried += result.attempted
        failed += result.failed
    if package == "thalweg":
        for page in PAGES:
            result = doctest.testfile(str(page), module_relative=False, optionflags=options)
            tried += result.attempted
            failed += result.failed
    print(f"doctests: {tried} examples, {failed} failed")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
