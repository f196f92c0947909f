"""Saved graphs whose inputs may have other sizes give what the function gives at each of them."""

import inspect
import json
import sys
from pathlib import Path

import pytest
import thalweg as tw
from archive_files import change
from hypothesis import given, settings
from hypothesis import strategies as st
from thalweg import nn

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

from gpt import GPT

F = nn.functional
batch = tw.Dim("batch", max=64)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.tw"


def saved(path, function, example, dynamic_shapes):
    tw.save_graph(path, function, *example, dynamic_shapes=dynamic_shapes)
    return tw.load_graph(path)


def check(path, function, example, dynamic_shapes, cases):
    """The loaded graph against the function, at the sizes of the example and of the cases."""
    graph = saved(path, function, example, dynamic_shapes)
    for args in [example, *cases, example]:
        wanted, got = function(*args), graph(*args)
        assert got.shape == wanted.shape and got.dtype == wanted.dtype
        assert tw.allclose(got, wanted, rtol=1e-5, atol=1e-6)
    return graph


def test_a_convolutional_network_at_any_batch_height_and_width(path):
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    ).eval()
    shapes = {"input": {0: batch, 2: tw.Dim("h", min=8, max=100), 3: tw.Dim("w", min=8, max=100)}}
    cases = [[tw.randn(n, 3, h, w)] for n, h, w in ((1, 16, 16), (3, 9, 20), (64, 8, 8), (2, 33, 100))]
    graph = check(path, model, [tw.randn(2, 3, 16, 16)], shapes, cases)
    assert graph.inputs == {"input": (tw.float32, ("batch", 3, "h", "w"))}


def test_a_transformer_at_any_batch_and_length(path):
    tw.manual_seed(0)
    model = GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.1).eval()
    name = next(iter(inspect.signature(model.forward).parameters))
    cases = [[tw.randint(0, 11, shape)] for shape in ((1, 8), (2, 3), (5, 1))]
    check(path, model, [tw.randint(0, 11, (3, 8))], {name: {0: "batch", 1: tw.Dim("t", max=8)}}, cases)


def test_a_training_step_takes_any_batch(path):
    def model_and_step():
        tw.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = tw.optim.AdamW(model.parameters(), lr=0.1)

        def step(x, y):
            with tw.enable_grad():
                loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step(tw.randn(4, 6), tw.tensor([0, 1, 2, 0]))
        return model, step

    _, saved_step = model_and_step()
    graph = saved(path, saved_step, [tw.randn(4, 6), tw.tensor([0, 1, 2, 0])], {"x": {0: batch}, "y": {0: batch}})
    model, step = model_and_step()
    for count in (4, 7, 1, 7):
        x, y = tw.randn(count, 6), tw.randint(0, 3, (count,))
        assert graph(x, y).item() == pytest.approx(step(x, y).item(), rel=1e-5)
    for value, wanted in zip(list(graph.variables.values())[:4], model.parameters()):
        assert tw.allclose(value, wanted, rtol=1e-4, atol=1e-5)


def test_dropout_draws_as_the_module_does(path):
    model = nn.Dropout(0.5)
    graph = saved(path, model, [tw.ones(4, 5)], {"input": ("batch", None)})
    for count in (3, 4):
        tw.manual_seed(1)
        wanted = model(tw.ones(count, 5))
        tw.manual_seed(1)
        assert (graph(tw.ones(count, 5)) == wanted).all()


FORMS = {
    "twice": lambda x: tw.arange(2 * x.shape[0] + 3),
    "half": lambda x: x[: (x.shape[0] + 1) // 2],
    "rest": lambda x: x[5:],
    "the last but two": lambda x: x[x.shape[0] - 2],
    "area": lambda x: x.reshape(x.shape[0] * x.shape[1]).cumsum(0),
    "rows of pairs": lambda x: x.repeat(1, 2).reshape(x.shape[0], 2, x.shape[1]).sum(1),
    "difference": lambda x: tw.arange(x.shape[0] - x.shape[1] + 200),
    "sum": lambda x: tw.arange(x.shape[0] + x.shape[1]),
    "mean by hand": lambda x: x.sum() / x.numel() + x.mean(),
    "scaled": lambda x: (x @ x.T) * x.shape[1] ** -0.5,
    "windows": lambda x: x.unfold(0, 3, 2).sum(-1),
    "turned and flat": lambda x: x.T.reshape(-1),
    "squares": lambda x: x.new_full((x.shape[0], x.shape[0]), 1.0).tril(),
    "expanded": lambda x: x.sum(0).expand(x.shape[0], -1) + x.mean(1, keepdim=True).expand_as(x),
    "in place": lambda x: x.clone().index_fill_(0, tw.tensor([0]), 7.0),
}


@pytest.mark.parametrize("form", FORMS)
def test_attributes_follow_sizes(path, form):
    shapes = {"x": {0: tw.Dim("n", min=6, max=300), 1: tw.Dim("m", min=2, max=150)}}
    cases = [[tw.randn(n, m)] for n, m in ((6, 2), (40, 9), (7, 30), (128, 128), (300, 150))]
    check(path, FORMS[form], [tw.randn(8, 4)], shapes, cases)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(-3, 5), st.integers(1, 3), st.integers(1, 40))
def test_lengths_that_are_linear_and_rounded(tmp_path_factory, scale, shift, divisor, size):
    path = tmp_path_factory.mktemp("sizes") / "model.tw"

    def function(x):
        return tw.arange((scale * x.shape[0]) + shift + 3) + x.reshape(-1)[: (x.numel() + shift + 3) // divisor].sum()

    graph = saved(path, function, [tw.ones(3, dtype=tw.int64)], {"x": {0: "n"}})
    x = tw.arange(size)
    assert (graph(x) == function(x)).all()


def test_a_range_of_two_sizes(path):
    check(
        path, lambda x: x.sum(0) * x.shape[0], [tw.ones(3, 2)], {"x": {0: tw.Dim("n", min=3, max=4)}}, [[tw.ones(4, 2)]]
    )


def test_what_is_given_must_fit(path):
    with pytest.raises(ValueError, match=r"bounds 0 <= min < max are wanted for 'n', got 3 and 3"):
        tw.Dim("n", min=3, max=3)
    one = lambda x, y: x + y  # noqa: E731
    pair = [tw.ones(3, 2), tw.ones(3, 2)]
    for shapes, error, message in (
        ({"z": {0: "n"}}, ValueError, r"names 'z', but the inputs are \['x', 'y'\]"),
        ({"x": {2: "n"}}, ValueError, r"dynamic_shapes\['x'\]: there is no dim 2 of \[3, 2\]"),
        ({"x": {0: 5}}, TypeError, "a Dim or a name is wanted, got 5"),
        ({"x": {0: "n", 1: "n"}}, ValueError, "the example has n = 3, and 2 elsewhere"),
        ({"x": {0: tw.Dim("n", min=4, max=9)}}, ValueError, "the example has n = 3, which is not within"),
        ({"x": {0: tw.Dim("n")}, "y": {0: tw.Dim("n", max=7)}}, ValueError, "one name and other bounds"),
        ({"x": {0: "n"}}, ValueError, r"the call fails for n = \d+: add: .*\[\d+, 2\] and \[3, 2\]"),
    ):
        with pytest.raises(error, match=message):
            tw.save_graph(path, one, *pair, dynamic_shapes=shapes)
    assert not path.exists()


def test_calls_must_fit(path):
    graph = saved(path, lambda x, y: x + y, [tw.ones(3, 2), tw.ones(3, 2)], {"x": {0: batch}, "y": {0: batch}})
    for args, message in (
        ((tw.ones(3, 3), tw.ones(3, 2)), r'input "x" must be float32\[batch, 2\], got float32\[3, 3\]'),
        ((tw.ones(3), tw.ones(3, 2)), r'input "x" must be float32\[batch, 2\], got float32\[3\]'),
        ((tw.ones(65, 2), tw.ones(65, 2)), r'batch must be in \[1, 64\], got 65 in input "x"'),
        ((tw.ones(4, 2), tw.ones(5, 2)), r'batch is 4 in input "x" and 5 in input "y"'),
    ):
        with pytest.raises(ValueError, match=message):
            graph(*args)
    assert graph(tw.ones(2, 2), tw.ones(2, 2)).tolist() == [[2, 2], [2, 2]]


def test_what_depends_on_sizes_otherwise_is_refused(path):
    x = tw.ones(8, 3)
    shapes = {"x": {0: tw.Dim("n", max=100)}}
    with pytest.raises(ValueError, match=r"does something else for n = \d+ than for n = \d+"):
        tw.save_graph(path, lambda x: x.sin() if x.shape[0] % 4 == 3 else x.cos(), x, dynamic_shapes=shapes)
    with pytest.raises(ValueError, match=r"does something else for n = \d+ than for n = \d+"):
        tw.save_graph(path, lambda x: sum(row for row in x), x, dynamic_shapes=shapes)
    with pytest.raises(ValueError, match=r"end follows from the sizes in no way that is known: it is \d+ for n = \d+"):
        tw.save_graph(path, lambda x: x[: 1 + (x.shape[0] ** 2 + x.shape[0] // 3) % 7], x, dynamic_shapes=shapes)
    with pytest.raises(ValueError, match=r"for n = 1 result 0 is float32\[3\], and not float32\[1, 3\]"):
        tw.save_graph(path, lambda x: x.squeeze(), x, dynamic_shapes=shapes)


def test_programs_of_many_sizes_are_kept_for_the_last_ones_only(path):
    graph = saved(path, lambda x: x * 2, [tw.ones(3)], {"x": {0: "n"}})
    for size in [*range(1, 30), 1, 29]:
        assert graph(tw.ones(size)).tolist() == [2.0] * size


def with_sizes(edit):
    def apply(_, metadata):
        sizes = json.loads(metadata["sizes"])
        edit(sizes)
        metadata["sizes"] = json.dumps(sizes)

    return apply


@pytest.mark.parametrize(
    "edit, message",
    [
        (lambda sizes: sizes["symbols"][0].pop(), "a symbol must be a name, two bounds and places"),
        (lambda sizes: sizes["symbols"][0].__setitem__(3, []), "the symbol n stands nowhere"),
        (lambda sizes: sizes["symbols"][0].__setitem__(3, [[0, 7]]), "there is no dim 7 of an input 0"),
        (lambda sizes: sizes["symbols"][0].__setitem__(1, 9), r"n must be in \[9, 50\], got 3"),
        (lambda sizes: sizes["rules"][0].__setitem__(0, 99), "there is no node 99"),
        (lambda sizes: sizes["rules"][0].__setitem__(1, "what"), "has no attribute what"),
        (lambda sizes: sizes["rules"][0].__setitem__(2, 9), "there is no item"),
        (lambda sizes: sizes["rules"][0].__setitem__(3, "r[9]"), r"r\[9\]"),
        (lambda sizes: sizes["rules"][0].__setitem__(3, "import os"), "import os"),
        (lambda sizes: sizes["rules"][0].__setitem__(3, "(0 - r[0])"), "reshape"),
        (lambda sizes: sizes["rules"].reverse(), "in the order of their nodes"),
    ],
)
def test_sizes_that_do_not_fit_the_graph(path, edit, message):
    def function(x):
        return (x.reshape(x.shape[0] * 2, 1) + 1).reshape(x.shape[0], 2)

    tw.save_graph(path, function, tw.ones(3, 2), dynamic_shapes={"x": {0: tw.Dim("n", max=50)}})
    change(path, with_sizes(edit))
    with pytest.raises(ValueError, match=f"load_graph: .*{message}"):
        tw.load_graph(path)
