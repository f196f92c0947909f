"""torch's optimizer database through thalweg: one test for each optimizer and dtype, and one for refusals."""

import pytest

from . import optimizers, suites
from .conftest import names_of


def pytest_generate_tests(metafunc):
    metafunc.parametrize("name", names_of(suites.SUITES["optimizer"], metafunc.config))


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_optimizer(name, dtype, record):
    record(optimizers.run(name, (dtype,), tuple(c for c in optimizers.CHECKS if c != "errors")))


def test_errors(name, record):
    record(optimizers.run(name, ("none",), ("errors",)))
