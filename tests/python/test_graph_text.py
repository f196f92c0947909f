"""Graphs as Python sees them: text, checks, passes."""

import os
import subprocess
import sys

import pytest
import thalweg as tw
from thalweg._core._native import Graph

TEXT = """graph "g" {
  input %0 "x" : float32[2, 3]
  %1 = transpose(%0, dim0=0, dim1=1) : float32[3, 2] in "blöck" at "train.py:3"
  %2 = transpose(%1, dim0=0, dim1=1) : float32[2, 3]
  %3 = exp(%2) : float32[2, 3]
  return %3
}
"""
SIMPLE = """graph "g" {
  input %0 "x" : float32[2, 3]
  %1 = exp(%0) : float32[2, 3]
  return %1
}
"""


def test_text_goes_through_a_graph_unchanged():
    graph = Graph.parse(TEXT)
    graph.verify()
    assert str(graph) == TEXT
    assert graph.op_counts() == {"transpose": 2, "exp": 1}


def test_simplify_changes_the_graph():
    graph = Graph.parse(TEXT)
    graph.simplify()
    assert str(graph) == SIMPLE


def test_passes_run_by_name():
    graph = Graph.parse(TEXT)
    graph.run_pass("identity")
    assert graph.op_counts() == {"transpose": 1, "exp": 1}
    with pytest.raises(ValueError, match="run_pass: the name of a pass is wanted, got nothing"):
        graph.run_pass("nothing")


def test_errors_say_where():
    with pytest.raises(ValueError, match='line 3, column 8: an op is wanted, got "transpoze"'):
        Graph.parse(TEXT.replace("transpose", "transpoze"))
    with pytest.raises(ValueError, match=r'line 1, column 7: the name of the graph is wanted, got "\\xc3"'):
        Graph.parse("graph ö")


def test_a_broken_graph_names_the_node():
    random = "%9, %10 = dropout_of(%0) draw 4 : float32[2, 3], bool[2, 3]\n  return %9\n  draws 1"
    graph = Graph.parse(TEXT.replace("return %3", random))
    with pytest.raises(tw.InternalError, match=r"a draw below 1 is wanted, got 4\n  %4, %5 = dropout_of\(%0\)"):
        graph.verify()


@pytest.mark.parametrize(
    ("setting", "printed"),
    [
        (
            "after_all",
            [
                "before",
                "after identity",
                "after constant_folding",
                "after algebraic",
                "after common_subexpressions",
                "after dead_code",
                "after region_operands",
            ],
        ),
        ("dead_code,before", ["before", "after dead_code"]),
        ("", []),
    ],
)
def test_print_ir_shows_what_passes_leave(setting, printed):
    code = f"from thalweg._core._native import Graph; Graph.parse({SIMPLE!r}).simplify()"
    env = os.environ | {"THALWEG_PRINT_IR": setting, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == "".join(f"# {when}\n{SIMPLE}\n" for when in printed)
