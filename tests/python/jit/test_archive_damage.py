"""Damaged archives, and such that do not fit together, are ValueErrors that name the file and what is wrong."""

import json
import re

import pytest
import thalweg as tw
from archive_files import change, take_apart
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thalweg import nn


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="module")
def saved(folder):
    """The bytes of a saved graph."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    path = folder / "saved.tw"
    tw.save_graph(path, lambda x: {"a": [model(x)], "b": 1}, tw.ones(2, 3))
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, saved):
    path = tmp_path / "model.tw"
    path.write_bytes(saved)
    return path


def expect_refusal(path, message=""):
    with pytest.raises(ValueError, match=re.escape(str(path)) + ".*" + message):
        tw.load_graph(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bytes(folder, saved, data):
    damaged = bytearray(saved)
    spots = st.integers(0, len(saved) - 1) | st.integers(0, 7)
    for spot in data.draw(st.lists(spots, min_size=1, max_size=4, unique=True)):
        damaged[spot] ^= data.draw(st.integers(1, 255))
    path = folder / "flipped.tw"
    path.write_bytes(damaged)
    expect_refusal(path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_and_lengthened(folder, saved, data):
    path = folder / "cut.tw"
    path.write_bytes(saved[: data.draw(st.integers(0, len(saved) - 1))])
    expect_refusal(path)
    path.write_bytes(saved + data.draw(st.binary(min_size=1, max_size=9)))
    expect_refusal(path)


def test_another_version_and_other_files(path):
    change(path, lambda head, metadata: metadata.update(version="2"))
    expect_refusal(path, "it has version 2, and this thalweg reads version 1")
    tw.io.save_safetensors({"x": tw.ones(2)}, path)
    expect_refusal(path, "it is no thalweg graph")
    tw.save({"x": 1}, path)
    expect_refusal(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tw.load_graph(path.with_name("nowhere.tw"))


def rename(head, name):
    head[name + ".x"] = head.pop(name)


def retype(head, name, dtype):
    head[name]["dtype"] = dtype


def reshape(head, name, shape):
    head[name]["shape"] = shape


W = "Sequential.0.weight"


@pytest.mark.parametrize(
    "edit, message",
    [
        (lambda head, _: rename(head, W), f'tensor "{W}" is missing'),
        (lambda head, _: retype(head, W, "I32"), rf'tensor "{W}" must be float32\[4, 3\], got int32\[4, 3\]'),
        (lambda head, _: retype(head, W, "F64"), f'tensor "{W}" has the wrong number of bytes'),
        (lambda head, _: retype(head, W, "F4"), f'tensor "{W}" has the unknown dtype F4'),
        (lambda head, _: reshape(head, W, [3, 4]), rf'"{W}" must be float32\[4, 3\], got float32\[3, 4\]'),
        (lambda head, _: reshape(head, W, [2**62, 2**62]), "overflow"),
        (lambda head, _: reshape(head, W, [-4, -3]), "an integer from 0 on"),
        (lambda head, _: head[W].update(data_offsets=[4, 52]), "starts at byte"),
        (
            lambda head, _: head.update(more=dict(head[W], data_offsets=[0, 0], shape=[0])),
            'does not know its tensor "more"',
        ),
        (lambda _, meta: meta.pop("graph"), 'metadata lack "graph"'),
        (lambda _, meta: meta.update(graph=meta["graph"].replace("float32", "float33")), "line 2, column .* a dtype"),
        (lambda _, meta: meta.update(graph=meta["graph"].replace("return %", "return %9")), "a value defined before"),
        (lambda _, meta: meta.update(graph=meta["graph"].replace("draws 1", "draws 0")), "draw"),
        (lambda _, meta: meta.update(result_names="[]"), "1 results, but 0 names"),
        (lambda _, meta: meta.update(result_names="[1"), "JSON"),
        (lambda _, meta: meta.update(results="[" * 5000), "its results"),
        (lambda _, meta: meta.update(numbers="[" * 5000), "less nesting"),
        (lambda _, meta: meta.update(numbers="{}"), 'lacks "names"'),
    ],
)
def test_parts_that_do_not_fit(path, edit, message):
    change(path, edit)
    expect_refusal(path, message)


@pytest.mark.parametrize(
    "results",
    [
        {"tensor": 1},
        {"tensor": True},
        {"tensor": "0"},
        {"list": 3},
        {"list": [7]},
        {"dict": [1]},
        {"dict": [[[], {"value": 1}]]},
        {"named": "a b", "fields": [], "items": []},
        {"named": "a", "fields": ["b"], "items": []},
        {"named": "a", "fields": ["b", "b"], "items": [{"value": 1}, {"value": 1}]},
        {},
        None,
    ],
)
def test_results_that_make_no_sense(path, results):
    change(path, lambda _, metadata: metadata.update(results=json.dumps(results)))
    expect_refusal(path, "its results")


FORMULAS = {"names": ["lr"], "values": ["2"], "graph": [], "guards": [], "updates": []}


@pytest.mark.parametrize(
    "numbers, message",
    [
        (dict(FORMULAS, graph=["r[0]"]), "0 numbers, but 1 formulas"),
        (dict(FORMULAS, values=["r[0]"]), "a number that there is"),
        (dict(FORMULAS, updates=[[1, "2"]]), "there is no number 1"),
        (dict(FORMULAS, updates=[[0, "__import__('os')"]]), "formula"),
        (dict(FORMULAS, updates=[[0, "(r[0] / 0)"]]), "division by zero"),
        (dict(FORMULAS, updates=[[0, "(" * 10000]]), "less nesting"),
        (dict(FORMULAS, updates=[[0, "(9223372036854775807 + r[0])"]]), "beyond 64 bits"),
        (dict(FORMULAS, guards=[["(r[0] < 2)", "True"]]), "saved for numbers with"),
    ],
)
def test_numbers_that_make_no_sense(path, numbers, message):
    change(path, lambda _, metadata: metadata.update(numbers=json.dumps(numbers)))
    expect_refusal(path, message)


def test_a_file_put_together_again_loads(path, saved):
    """The tests above fail for what they change, not for how they change it."""
    change(path, lambda head, metadata: None)
    assert take_apart(path)[0][W]["shape"] == [4, 3]
    assert tw.load_graph(path)(tw.ones(2, 3))["b"] == 1
