"""Options of the sampled run, and the check on exemptions when a run ends."""

import importlib.util
import os

import pytest

from . import summary

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]

RESULTS = pytest.StashKey[list]()


def pytest_addoption(parser):
    group = parser.getgroup("conformance")
    default = float(os.environ.get("CONFORMANCE_SAMPLE_FRACTION", "1"))
    group.addoption("--sample-fraction", type=float, default=default, help="this part of the names, chosen by hash")
    group.addoption("--demanded-only", action="store_true", help="only the names that must be offered")


def pytest_configure(config):
    config.stash[RESULTS] = []


def names_of(suite, config):
    """The suite's names under the options, in the database's order."""
    from . import suites

    unit = {"fraction": config.getoption("--sample-fraction"), "demanded": config.getoption("--demanded-only")}
    return suites.select(suite, unit)


@pytest.fixture
def record(request):
    """Takes a unit's result: skips what is not offered, fails with the first differences."""

    def check(result):
        plain = result.as_dict()
        request.config.stash[RESULTS].append(plain)
        if result.missing and not result.demanded:
            pytest.skip(f"not offered: {result.missing}")
        if result.failed():
            pytest.fail("\n".join([summary.line(plain), *summary.failure_lines(plain, 2)]), pytrace=False)

    return check


def pytest_sessionfinish(session, exitstatus):
    """Too many exempt samples fail the session; stale exemptions show only in a complete run (tools/conformance.py)."""
    results = session.config.stash.get(RESULTS, [])
    if not results:
        return
    from . import exempt

    problems = summary.exemption_problems(results, [], exempt.MAX_FRACTION, complete=False)
    if problems:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print("\n" + "\n".join(problems))
