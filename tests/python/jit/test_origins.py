"""Nodes and launches know the user's line."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F


def line_of(function, text):
    """`file:line` of the line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    found = [i for i, line in enumerate(lines) if text in line]
    assert len(found) == 1
    return f"{inspect.getsourcefile(function)}:{first + found[0]}"


def launches(compiled):
    return compiled.plan().launches


def origins(compiled, op):
    return {launch.origin for launch in launches(compiled) if launch.op == op}


def test_launches_know_the_line_that_called_them():
    def f(x, y):
        a = x * y
        b = a.exp()
        return b.sum()

    compiled = tw.jit(f)
    compiled(tw.ones(3), tw.ones(3))
    assert origins(compiled, "mul") == {line_of(f, "x * y")}
    assert origins(compiled, "exp") == {line_of(f, "a.exp()")}


def test_modules_of_the_package_are_passed_over():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

        def forward(self, x):
            h = self.body(x)
            return h * 2

    model = Model()
    compiled = tw.jit(lambda x: model(x))
    with tw.no_grad():
        compiled(tw.ones(2, 4))
    assert origins(compiled, "tanh") == {line_of(Model.forward, "self.body(x)")}
    assert {launch.module for launch in launches(compiled) if launch.op == "tanh"} == {"Model.body.1"}
    assert origins(compiled, "mul") == {line_of(Model.forward, "h * 2")}


def test_backward_has_the_line_of_its_forward():
    weight = tw.ones(3, requires_grad=True)

    def step(x):
        h = weight * x
        loss = h.sigmoid().sum()
        loss.backward()
        with tw.no_grad():
            weight.sub_(weight.grad)
        return loss.detach()

    compiled = tw.jit(step)
    compiled(tw.ones(3))
    weight.grad = None
    compiled(tw.ones(3))
    backward = {launch.origin for launch in launches(compiled) if "sigmoid" in launch.op}
    assert backward == {line_of(step, "h.sigmoid()")}
    assert line_of(step, "weight * x") in origins(compiled, "mul")  # the gradient of weight is a product with x
    assert line_of(step, "weight.sub_") in {launch.origin for launch in launches(compiled)}


def test_a_custom_function_s_backward_has_the_line_of_apply():
    class Double(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, grad):
            return grad.cos()

    def f(x):
        y = Double.apply(x)
        return y.sum()

    x = tw.ones(3, requires_grad=True)
    compiled = tw.jit(f)
    compiled(x).backward()
    step = compiled.programs()[0].step
    assert "cos" in step.backward_text()
    origin = re.search(r"cos\(.*? at \"(.*?)\"", step.backward_text())[1]
    assert origin == line_of(f, "Double.apply(x)")


def test_views_keep_the_line_that_made_them():
    def f(x):
        v = x.t()
        w = v + 1
        return w.sum(0)

    compiled = tw.jit(f)
    compiled(tw.ones(2, 3))
    text = compiled.programs()[0].step.graph_text()
    assert re.search(r"transpose\(.*?at \"(.*?)\"|permute\(.*?at \"(.*?)\"|t\(.*?at \"(.*?)\"", text)
    assert line_of(f, "x.t()") in text and line_of(f, "v + 1") in text


def test_copies_of_the_planner_have_a_line():
    state = tw.zeros(4)

    def f(x):
        y = x.exp()
        state.copy_(y)
        return y

    compiled = tw.jit(f)
    compiled(tw.ones(4))
    assert len(launches(compiled)) == 2  # one result in two places
    assert {launch.origin for launch in launches(compiled)} == {line_of(f, "x.exp()")}


def test_a_launch_that_fails_names_module_and_line():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(4, 2)

        def forward(self, i):
            return self.table(i)

    model = Model()
    compiled = tw.jit(lambda i: model(i))
    with tw.no_grad():
        compiled(tw.tensor([1, 2]))
        where = line_of(Model.forward, "self.table(i)")
        with pytest.raises(IndexError, match=re.escape(f"(in Model.table, at {where})")):
            compiled(tw.tensor([1, 9]))
        assert compiled(tw.tensor([1, 2])).shape == (2, 2)


def test_printed_graphs_hold_lines():
    code = """
import thalweg as tw

def f(x):
    return (x * 3).sum()

tw.jit(f)(tw.ones(2))
"""
    path = Path(__file__).with_name("printed.py")
    run = subprocess.run(
        [sys.executable, "-c", f"exec(compile({code!r}, {str(path)!r}, 'exec'))"],
        env={**__import__("os").environ, "THALWEG_PRINT_IR": "after_all"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'at "{path}:5"' in run.stderr


def test_archives_and_pages_hold_lines(tmp_path):
    def f(x):
        return F.softmax(x * 2, dim=0)

    tw.save_graph(tmp_path / "f.tw", f, tw.ones(3))
    assert line_of(f, "F.softmax") in tw.load_graph(tmp_path / "f.tw").graph_text()
    compiled = tw.jit(f)
    compiled(tw.ones(3))
    compiled.plan().html(tmp_path / "f.html")
    data = re.search(r'id="data">(.*?)</script>', (tmp_path / "f.html").read_text(), re.S)[1]
    assert line_of(f, "F.softmax") in json.loads(data)["texts"]
