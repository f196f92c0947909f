"""torch's operator database through thalweg: one test for each op and group of dtypes."""

import pytest

from . import engine, samples, suites
from .conftest import names_of

GROUPS = {
    "float": ("float32", "float64"),
    "half": ("float16", "bfloat16"),
    "complex": ("complex64", "complex128"),
    "integer": ("uint8", "int8", "int16", "int32", "int64"),
    "bool": ("bool",),
}


def pytest_generate_tests(metafunc):
    names = names_of(suites.SUITES["op"], metafunc.config)
    if "group" not in metafunc.fixturenames:
        metafunc.parametrize("name", names)
        return
    cases = [
        (name, group)
        for name in names
        for group, dtypes in GROUPS.items()
        if samples.dtypes_of(samples.database()[name], dtypes)
    ]
    metafunc.parametrize(("name", "group"), cases, ids=[f"{n}-{g}" for n, g in cases])


def test_op(name, group, record):
    wanted = tuple(c for c in engine.ALL_CHECKS if c != "errors")
    record(engine.run(name, GROUPS[group], wanted))


def test_errors(name, record):
    if not samples.error_inputs(name):
        pytest.skip("torch's database has no error inputs for it")
    record(engine.run(name, (), ("errors",)))
