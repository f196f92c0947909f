"""torch's module database through thalweg: one test for each module and dtype, and one for refusals."""

import pytest

from . import modules, suites
from .conftest import names_of


def pytest_generate_tests(metafunc):
    metafunc.parametrize("name", names_of(suites.SUITES["module"], metafunc.config))


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_module(name, dtype, record):
    record(modules.run(name, (dtype,), tuple(c for c in modules.CHECKS if c != "errors")))


def test_errors(name, record):
    record(modules.run(name, ("none",), ("errors",)))
