"""The command line: pages from graphs, and a sentence for what cannot be one."""

import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file
from thalweg.cli.main import main

GRAPH = """graph "g" {
  input %0 "x" : float32[64, 3]
  %1 = exp(%0) : float32[64, 3] in "encoder.0" at "train.py:7"
  %2 = exp(%0) : float32[64, 3] in "encoder.1" at "train.py:8"
  %3 = add(%1, %2) : float32[64, 3]
  %4 = sum(%3) : float32[]
  return %4
}
"""


def test_show_writes_a_page(tmp_path, capsys):
    (tmp_path / "step.tw").write_text(GRAPH)
    page = tmp_path / "out.html"
    assert main(["show", str(tmp_path / "step.tw"), "-o", str(page)]) == 0
    output = capsys.readouterr()
    assert output.out.startswith(f"{page}: 3 launches, arena ") and output.err == ""  # the second exp is the first
    assert "encoder.0" in page.read_text() and "encoder.1" not in page.read_text()


def test_the_page_lies_beside_the_graph(tmp_path):
    (tmp_path / "step.tw").write_text(GRAPH)
    command = [sys.executable, "-m", "thalweg", "show", str(tmp_path / "step.tw")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"{tmp_path / 'step.html'}: ")
    assert (tmp_path / "step.html").read_text().startswith("<!DOCTYPE html>")


def test_a_saved_graph_is_shown_without_its_tensors(tmp_path, capsys):
    weight = np.ones((64, 3), np.float32)
    save_file({"x": weight}, tmp_path / "step.tw", metadata={"format": "thalweg graph", "graph": GRAPH})
    assert main(["show", str(tmp_path / "step.tw")]) == 0
    assert "3 launches" in capsys.readouterr().out and "encoder.0" in (tmp_path / "step.html").read_text()


BAD = {
    "not a graph": (b"hello", "line 1, column 1: "),
    "an unknown op": (b'graph "g" {\n  %0 = what() : float32[]\n  return %0\n}', "line 2, column 8: an op is wanted"),
    "sizes that do not fit": (GRAPH.replace("[64, 3] in \"encoder.0\"", "[64, 4] in").encode(), "line 3"),
    "no text": (b"PK\x03\x04\xff\xfe", "got something that is neither text nor a saved graph"),
    "tensors only": (b"\x02\0\0\0\0\0\0\0{}" + b"1234", "a graph is wanted, got a file of tensors without one"),
    "a broken header": (b"\x03\0\0\0\0\0\0\0{,}" + b"1234", "line 1"),
    "nothing": (b"", "line 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_sentence(name, tmp_path, capsys):
    content, words = BAD[name]
    (tmp_path / "bad.tw").write_bytes(content)
    assert main(["show", str(tmp_path / "bad.tw")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"thalweg: {tmp_path / 'bad.tw'}: ") and error.count("\n") == 1
    assert words in error
    assert list(tmp_path.iterdir()) == [tmp_path / "bad.tw"]


def test_files_that_are_not_there(tmp_path, capsys):
    assert main(["show", str(tmp_path / "none.tw")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    (tmp_path / "step.tw").write_text(GRAPH)
    assert main(["show", str(tmp_path / "step.tw"), "-o", str(tmp_path / "nowhere" / "x.html")]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_the_graph_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "step.html").write_text(GRAPH)
    assert main(["show", str(tmp_path / "step.html")]) == 1
    assert "the page would replace the graph" in capsys.readouterr().err
    assert (tmp_path / "step.html").read_text() == GRAPH


def test_a_command_is_wanted(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2 and "COMMAND" in capsys.readouterr().err
