"""ONNX's node and model tests through thalweg: one test for each operator."""

from . import onnx_cases, suites
from .conftest import names_of


def pytest_generate_tests(metafunc):
    metafunc.parametrize("name", names_of(suites.SUITES["onnx"], metafunc.config))


def test_operator(name, record):
    record(onnx_cases.run(name))
