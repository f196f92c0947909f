"""The array API standard through thalweg: one test for each function or operator."""

from . import array_api, suites
from .conftest import names_of


def pytest_generate_tests(metafunc):
    metafunc.parametrize("name", names_of(suites.SUITES["array_api"], metafunc.config))


def test_function(name, record):
    record(array_api.run(name))
