"""The modules of examples/, for tests."""

import sys
from importlib import import_module
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def example(name: str):
    sys.path.insert(0, str(EXAMPLES))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(EXAMPLES))
