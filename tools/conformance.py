#!/usr/bin/env python3
"""Runs torch's operator, module and optimizer databases through thalweg; see tests/conformance/report.py."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    runpy.run_module("conformance.report", run_name="__main__")
