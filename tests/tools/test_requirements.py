"""requirements lists what pyproject.toml says and expands extras that name other extras."""

from pathlib import Path

import pytest
import requirements

PROJECT = {
    "build-system": {"requires": ["a"]},
    "project": {
        "dependencies": ["b>=1"],
        "optional-dependencies": {"test": ["c"], "dev": ["thalweg[test]", "d", "a"]},
    },
}
CUDA = {"build-system": {"requires": ["a", "nvidia-b==13.0"]}}


def test_lists_are_joined_without_repeats():
    assert requirements.requirements(PROJECT, CUDA, ["build", "run", "dev"]) == ["a", "b>=1", "c", "d"]


def test_what_builds_cuda_is_a_list_of_its_own():
    assert requirements.requirements(PROJECT, CUDA, ["build", "cuda"]) == ["a", "nvidia-b==13.0"]


def test_both_wheels_are_built_with_the_same_packages():
    root = Path(requirements.__file__).parents[1]
    ours, cuda = (requirements.read(folder)["build-system"]["requires"] for folder in (root, root / "cuda"))
    assert [item for item in cuda if not item.startswith("nvidia-")] == [item for item in ours if item in cuda]


def test_an_unknown_list_is_an_error():
    with pytest.raises(KeyError, match="wanted build, run, cuda or one of"):
        requirements.requirements(PROJECT, CUDA, ["devel"])
