"""new_op writes files that compile against the headers, refuses bad names, and leaves parts that check_ops misses."""

import shutil
import subprocess
from pathlib import Path

import new_op
import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_files_are_written_once(tmp_path):
    written = new_op.write(tmp_path, "activation", "swish")
    assert written == [
        "cpp/ops/activation/swish.cc",
        "cpp/ops/activation/swish_cpu.cc",
        "tests/ops/activation/test_swish.py",
    ]
    assert all("NAME" not in (tmp_path / place).read_text() for place in written)
    with pytest.raises(FileExistsError, match="stems are unique"):
        new_op.write(tmp_path, "math", "swish")


@pytest.mark.parametrize("name", ["Swish", "2d", "swish_cpu", "swish_test", "a-b", ""])
def test_bad_names_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="snake_case"):
        new_op.write(tmp_path, "activation", name)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_sources_compile(tmp_path):
    for place in new_op.write(tmp_path, "activation", "swish")[:2]:
        command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'cpp'}"]
        done = subprocess.run([*command, str(tmp_path / place)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
