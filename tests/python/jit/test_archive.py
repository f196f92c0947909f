"""Saved graphs give what the function gives, bit for bit, with state and numbers of their own."""

import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import thalweg as tw
from thalweg import nn
from thalweg.io.raw import byte_view

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

from gpt import GPT


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.tw"


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and byte_view(a.contiguous()) == byte_view(b.contiguous())


def convolutional():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    model(tw.randn(6, 3, 8, 8))  # running statistics that are not 0 and 1
    return model


def test_batch_norm_in_eval(path):
    model, x = convolutional().eval(), tw.randn(2, 3, 8, 8)
    tw.save_graph(path, model, x)
    graph = tw.load_graph(path)
    assert {"0.weight", "1.running_mean", "4.bias"} <= set(graph.variables)
    assert graph.inputs == {"input": (tw.float32, (2, 3, 8, 8))}
    for y in (x, tw.randn(2, 3, 8, 8)):
        assert same(graph(y), model(y)) and not graph(y).requires_grad


def test_state_that_is_written_goes_on_from_where_it_was_saved(path):
    model, x = convolutional(), tw.randn(2, 3, 8, 8)
    tw.save_graph(path, model, x)
    before = model[1].running_mean.clone()
    one, other = tw.load_graph(path), tw.load_graph(str(path))
    for _ in range(3):
        assert same(one(x), model(x))
        assert same(one.variables["1.running_mean"], model[1].running_mean)
    assert one.variables["1.num_batches_tracked"].item() == 4
    assert same(other.variables["1.running_mean"], before) and other.variables["1.num_batches_tracked"].item() == 1
    one.variables["4.bias"].fill_(7.0)
    model[4].bias.data.fill_(7.0)
    assert same(one(x), model(x))


def test_gpt(path):
    tw.manual_seed(0)
    model = GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.1).eval()
    tokens = tw.randint(0, 11, (3, 8))
    tw.save_graph(path, model, tokens)
    graph = tw.load_graph(path)
    for other in (tokens, tw.randint(0, 11, (3, 8))):
        assert same(graph(other), model(other).detach())
    with pytest.raises(ValueError, match=r'model\.tw: input "\w+" must be int64\[3, 8\], got int64\[4, 8\]'):
        graph(tw.zeros(4, 8, dtype=tw.int64))


def test_dropout_draws_what_the_module_draws(path):
    model, x = nn.Dropout(0.5), tw.ones(100)
    tw.save_graph(path, model, x)
    graph = tw.load_graph(path)
    tw.manual_seed(3)
    wanted = [model(x), model(x)]
    tw.manual_seed(3)
    got = [graph(x), graph(x)]
    assert same(got[0], wanted[0]) and same(got[1], wanted[1]) and not same(got[0], got[1])


Pair = namedtuple("Pair", "a b")


def test_arguments_and_results_may_be_nested(path):
    bias = tw.tensor([1.0, 2.0])

    def f(batch, scale, *rest, options):
        total = batch["x"] + batch["pair"].a * scale
        return {
            "total": total,
            "again": (total, [batch["x"], bias]),
            7: Pair(None, rest[0].max(0)),
            "view": total[:1],
            "constants": [1, 2.5, "s", True, float("inf")],
            "options": options,
        }

    args = {"x": tw.ones(2), "pair": Pair(tw.ones(2), 3)}, 2, tw.tensor([5, 9, 7])
    tw.save_graph(path, f, *args, options=tw.tensor([True]))
    graph = tw.load_graph(path)
    assert list(graph.inputs) == ["batch.x", "batch.pair.a", "rest.0", "options"]
    got = graph(*[tw.tensor([3.0, 4.0]), tw.tensor([10.0, 20.0])], tw.tensor([1, 3, 8]), options=tw.tensor([False]))
    assert list(got) == ["total", "again", 7, "view", "constants", "options"]
    assert got["total"].tolist() == [23, 44] and got["again"][0] is got["total"] and got["view"].tolist() == [23]
    assert isinstance(got["again"], tuple) and [t.tolist() for t in got["again"][1]] == [[3, 4], [1, 2]]
    assert got[7].a is None and got[7].b.values.item() == 8 and got[7].b.indices.item() == 2
    assert got["constants"] == [1, 2.5, "s", True, float("inf")] and got["options"].tolist() == [False]
    with pytest.raises(TypeError, match="results may be .* got set at bad"):
        tw.save_graph(path, lambda: {"bad": {1}})


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "float16", "bfloat16", "float64", "complex64", "complex128"]
)
def test_tensors_of_every_dtype(path, dtype):
    kept = tw.arange(6).reshape(2, 3).to(getattr(tw, dtype))
    tw.save_graph(path, lambda x: (kept[x], kept.transpose(0, 1), tw.empty(0, dtype=kept.dtype)), tw.tensor([1]))
    rows, turned, nothing = tw.load_graph(path)(tw.tensor([0]))
    assert same(rows, kept[:1]) and same(turned, kept.transpose(0, 1).contiguous())
    assert nothing.shape == (0,) and nothing.dtype == kept.dtype


def test_a_window_on_larger_memory_and_equal_names(path):
    memory = tw.arange(12.0)
    window, twins = memory[2:8].view(2, 3), [nn.Linear(3, 3), nn.Linear(3, 3)]
    tw.save_graph(path, lambda x: twins[1](twins[0](window * x)), tw.ones(3))
    graph = tw.load_graph(path)
    assert {"Linear.weight", "Linear.weight.2"} <= set(graph.variables)
    x = tw.randn(3)
    assert same(graph(x), twins[1](twins[0](window * x)).detach())


def test_a_training_step_goes_on_with_its_optimizer(path):
    models = [nn.Linear(4, 2), nn.Linear(4, 2)]
    models[1].load_state_dict(models[0].state_dict())
    x, y = tw.randn(3, 4), tw.randn(3, 2)

    def make_step(model):
        optimizer = tw.optim.Adam(model.parameters(), lr=0.1)

        @tw.jit
        def step(x, y):
            with tw.enable_grad():
                optimizer.zero_grad()
                loss = ((model(x) - y) ** 2).mean()
                loss.backward()
                optimizer.step()
            return loss.detach()

        return optimizer, step

    (optimizer, step), (_, saved) = make_step(models[0]), make_step(models[1])
    with pytest.raises(ValueError, match="new state"):
        tw.save_graph(path, saved, x, y)
    assert not path.exists()
    step(x, y), saved(x, y)
    tw.save_graph(path, saved, x, y)
    graph = tw.load_graph(path)
    assert graph.numbers["lr"] == 0.1
    for i in range(5):
        optimizer.param_groups[0]["lr"] = lr = 0.1 / (i + 1)
        assert same(graph(x, y, lr=lr), step(x, y))
    assert graph.numbers["lr"] == 0.1
    assert same(graph.variables["Linear.weight"], models[0].weight.detach())


def test_a_graph_class_trains_on(path):
    class Fit(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = nn.Linear(2, 1)
            optimizer = tw.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
            self.add_optimizer(optimizer, lr_sch=tw.optim.lr_scheduler.StepLR(optimizer, 1, 0.5))

        def build(self, x, y):
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            return loss

    fit, x, y = Fit(), tw.randn(8, 2), tw.randn(8, 1)
    fit(x, y)
    tw.save_graph(path, fit, x, y)
    graph = tw.load_graph(path)
    assert list(graph.inputs) == ["x", "y"] and graph.numbers["lr"] == 0.05  # saving is no step of the schedule
    assert [graph(x, y, lr=0.1 / 2**i).item() for i in range(1, 5)] == [fit(x, y).item() for _ in range(1, 5)]


def test_functions_made_by_jit(path):
    class Layer(nn.Module):
        @tw.jit
        def forward(self, x):
            return x * 3

    compiled, x = tw.jit(lambda x: x * 3), tw.ones(2)
    compiled(x)
    for function in (compiled, Layer(), Layer().forward):
        tw.save_graph(path, function, x)
        graph = tw.load_graph(path)
        assert list(graph.inputs) == ["x"] and graph(x).tolist() == [3, 3]


def test_threads_share_one_graph(path):
    count = tw.zeros((), dtype=tw.int64)

    def f(x):
        count.add_(1)
        return x * 2

    tw.save_graph(path, f, tw.ones(1000))
    graph = tw.load_graph(path)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: graph(tw.full((1000,), float(i))), range(100)))
    assert all((result == 2 * i).all() for i, result in enumerate(results))
    assert graph.variables["variable0"].item() == 100 and count.item() == 0


def test_numbers_that_change_the_program_are_refused(path):
    weight = nn.Parameter(tw.ones(2))
    optimizer = tw.optim.SGD([weight], lr=0.1)

    def step(x):
        with tw.enable_grad():
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()

    step(tw.ones(2))
    tw.save_graph(path, step, tw.ones(2))
    graph = tw.load_graph(path)
    with pytest.raises(ValueError, match=r"saved for numbers with .* momentum = 0\.5"):
        graph(tw.ones(2), momentum=0.5)
    assert graph(tw.ones(2), lr=0.2) is None
    assert graph.variables["variable0"].tolist() == [pytest.approx(0.7)] * 2


def test_what_cannot_be_saved(path):
    kept, parameter = [], nn.Parameter(tw.ones(2))
    with pytest.raises(ValueError, match="something outside keeps"):
        tw.save_graph(path, lambda x: kept.append(x + 1), tw.ones(2))

    def leaves_a_gradient(x):
        with tw.enable_grad():
            (parameter * x).sum().backward()

    with pytest.raises(ValueError, match="leaves a gradient"):
        tw.save_graph(path, leaves_a_gradient, tw.ones(2))
    assert parameter.grad is None
    with pytest.raises(NotImplementedError, match="writes to its argument 'y' in place"):
        tw.save_graph(path, lambda x, y: y.add_(x), tw.ones(2), tw.ones(2))
    assert not path.exists()


def test_calls_that_do_not_fit(path):
    tw.save_graph(path, lambda x, y: x + y, tw.ones(2), tw.ones(2))
    graph = tw.load_graph(path)
    one = tw.ones(2)
    for call, kind, message in [
        (lambda: graph(one), TypeError, "input 'y' must be a tensor, got nothing"),
        (lambda: graph(one, 2), TypeError, "input 'y' must be a tensor, got int"),
        (lambda: graph(one, one, one), TypeError, "2 inputs are wanted, got 3"),
        (lambda: graph(one, one, x=one), TypeError, "argument 'x' is given twice"),
        (lambda: graph(one, one, z=one), TypeError, "argument 'z' is unknown"),
        (lambda: graph(one, tw.ones(2, dtype=tw.int32)), ValueError, r'"y" must be float32\[2\], got int32\[2\]'),
        (lambda: graph(one, tw.ones(3)), ValueError, r'"y" must be float32\[2\], got float32\[3\]'),
    ]:
        with pytest.raises(kind, match=message):
            call()
    assert graph(y=one, x=tw.arange(4.0)[::2]).tolist() == [1, 3]


def test_another_process_needs_no_code_of_the_model(path):
    tw.manual_seed(1)
    model, x = convolutional().eval(), tw.arange(2 * 3 * 64.0).reshape(2, 3, 8, 8) / 100
    tw.save_graph(path, model, x)
    code = (
        "import sys, thalweg as tw; x = tw.arange(2 * 3 * 64.0).reshape(2, 3, 8, 8) / 100; "
        "print(tw.load_graph(sys.argv[1])(x).numpy().tobytes().hex()); assert 'thalweg.nn' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == model(x).detach().numpy().tobytes().hex()
