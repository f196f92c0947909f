"""requirements lists what pyproject.toml says and expands extras that name other extras."""

import pytest
import requirements

PROJECT = {
    "build-system": {"requires": ["a"]},
    "project": {
        "dependencies": ["b>=1"],
        "optional-dependencies": {"test": ["c"], "dev": ["thalweg[test]", "d", "a"]},
    },
}


def test_lists_are_joined_without_repeats():
    assert requirements.requirements(PROJECT, ["build", "run", "dev"]) == ["a", "b>=1", "c", "d"]


def test_an_unknown_list_is_an_error():
    with pytest.raises(KeyError, match="wanted build, run or one of"):
        requirements.requirements(PROJECT, ["devel"])
