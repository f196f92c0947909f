"""einops and opt_einsum on thalweg's tensors."""

from . import libraries, suites
from .conftest import names_of


def pytest_generate_tests(metafunc):
    metafunc.parametrize("name", names_of(suites.SUITES["library"], metafunc.config))


def test_library(name, record):
    record(libraries.run(name))
