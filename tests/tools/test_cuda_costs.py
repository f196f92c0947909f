"""What tools/cuda_costs.py reads in the files of kernels, and the page that tells it."""

from pathlib import Path

import cuda_costs
import pytest

ROOT = Path(cuda_costs.__file__).parents[1]
STATED = "// add. Floor: bytes over the bandwidth.\n//\n// Per element: 12 bytes and 1 operation (add, float32).\n\n"


def test_every_file_says_what_its_kernels_cost():
    found, problems = cuda_costs.costs(ROOT)
    assert problems == []
    assert len({cost.file for cost in found}) == len(list((ROOT / "cuda").rglob("*.cu"))) - len(cuda_costs.WITHOUT)


def test_the_page_says_the_same():
    found, _ = cuda_costs.costs(ROOT)
    page = (ROOT / "docs" / "cuda_kernels.md").read_text(encoding="utf-8")
    assert "\n".join(cuda_costs.table(found)) in page


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (STATED.replace("Floor", "Limit"), "does not say what the floor is"),
        (STATED.replace("12 bytes", "some bytes"), "has no line"),
        ("#pragma once\n" + STATED, "has no line"),
    ],
)
def test_what_a_comment_lacks_is_told(text, problem):
    assert any(problem in line for line in cuda_costs.costs_of("a.cu", text)[1])


@pytest.mark.parametrize(
    ("line", "seconds", "limit"),
    [
        ("12 bytes and 1 operation (add, float32)", 12 / (0.9 * 4.8e12), "memory"),
        ("4 bytes and 4000 operations (pow, float32)", 4000 / 33.5e12, "arithmetic"),
        ("8 n bytes and n / 3 operations (cholesky of n x n, float32)", 8 * 64 / (0.9 * 4.8e12), "memory"),
        ("4.4 bytes and 2/3 n operations (det of n x n, float32)", 128 / 3 / 33.5e12, "arithmetic"),
        ("8 bytes and 8192 tensor operations (product, bfloat16)", 8192 / 989e12, "tensor cores"),
    ],
)
def test_the_larger_of_two_times_is_the_least(line, seconds, limit):
    found, problems = cuda_costs.costs_of("a.cu", f"// Floor: this.\n// Per element: {line}.\n")
    assert problems == []
    assert max(found[0].times()) == pytest.approx(seconds * cuda_costs.ELEMENTS)
    assert cuda_costs.table(found)[-1].endswith(f"| {limit} |")
