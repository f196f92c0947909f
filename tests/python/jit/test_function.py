"""Compiled functions do what the functions do: results, gradients, writes to tensors outside, random numbers."""

import dataclasses
from collections import namedtuple

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F


def test_one_trace_serves_all_arguments_of_a_kind():
    @tw.jit
    def f(x, scale=2):
        return (x * scale).sum()

    assert f(tw.tensor([1.0, 2.0])).item() == 6 and f(tw.tensor([3.0, 4.0])).item() == 14
    assert f.trace_count == 1
    f(tw.ones(3)), f(tw.ones(2, dtype=tw.float64)), f(tw.ones(2), scale=3), f(tw.ones(2), 3)
    assert f.trace_count == 5
    assert f(tw.tensor([5.0, 6.0])).item() == 22 and f.trace_count == 5


def test_arguments_and_results_may_be_nested():
    Pair = namedtuple("Pair", "a b")

    @dataclasses.dataclass
    class Record:
        x: tw.Tensor
        name: str

    @tw.jit
    def f(record, pair, options):
        assert options["flag"] is None and record.name == "n"
        total = record.x + pair.a * pair.b
        return {"total": total, "pair": Pair(total, [record.x, 7]), "same": Record(total * 2, "m")}

    x, a, b = tw.ones(2), tw.full((2,), 3.0), tw.full((2,), 5.0)
    result = f(Record(x, "n"), Pair(a, b), {"flag": None})
    assert result["total"].tolist() == [16, 16] and result["pair"].b[0] is x and result["pair"].b[1] == 7
    assert isinstance(result["pair"], Pair) and result["same"].x.tolist() == [32, 32] and result["same"].name == "m"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.transpose(0, 1).contiguous().view(-1) + 1,
        lambda x: tw.view_as_complex(x.transpose(0, 1).contiguous()) * 2,
        lambda x: x.transpose(0, 1).clone().view(tw.int32) * 2,
        lambda x: tw.view_as_complex(x[:, ::2].clone()) * 2,
        lambda x: tw.view_as_complex((tw.ones(()) * 2).expand(3, 2) * 2) * 2,
    ],
)
def test_views_of_copies_of_strided_memory(f):
    x = tw.arange(8.0).reshape(2, 4)
    assert tw.jit(f)(x).tolist() == f(x).tolist()


def test_views_and_writes_through_them():
    def f(x):
        y = x.clone()
        row, column = y[1], y.t()[0]
        row.mul_(10)
        column.add_(1)
        y[:, 1:].zero_()
        flat = y.view(-1)
        flat[0] = 7.0
        return y, row, column, flat, y.diagonal()

    x = tw.arange(6.0).reshape(2, 3)
    for eager, static in zip(f(x), tw.jit(f)(x)):
        assert eager.tolist() == static.tolist()


def test_tensors_outside_are_read_and_written_in_every_call():
    count, table = tw.zeros(()), tw.arange(4.0)

    @tw.jit
    def f(x):
        count.add_(1)
        table[1:3] += x
        return table * count

    for calls in (1, 2, 3):
        result = f(tw.ones(2))
        assert count.item() == calls and table.tolist() == [0, 1 + calls, 2 + calls, 3]
        assert result.tolist() == [v * calls for v in table.tolist()]
    with tw.no_grad():
        table.fill_(0)
    assert f(tw.ones(2)).tolist() == [0, 4, 4, 0] and f.trace_count == 1


def test_variables_that_trade_places():
    a, b = tw.tensor([1.0, 2.0]), tw.tensor([3.0, 4.0])

    @tw.jit
    def swap():
        old = a.clone()
        a.copy_(b)
        b.copy_(old)

    swap()
    assert a.tolist() == [3, 4] and b.tolist() == [1, 2]
    swap()
    assert a.tolist() == [1, 2] and b.tolist() == [3, 4]


def test_results_do_not_change_with_later_calls():
    f = tw.jit(lambda x: (x + 1, x.t()))
    first, view = f(tw.zeros(2, 2))
    f(tw.ones(2, 2))
    assert first.tolist() == [[1, 1], [1, 1]] and view.tolist() == [[0, 0], [0, 0]]


def test_what_is_returned_as_it_came_is_the_same_tensor():
    weight = nn.Parameter(tw.ones(2))
    f = tw.jit(lambda x: (x, weight, 3))
    x = tw.ones(2)
    a, b, c = f(x)
    assert a is x and b is weight and c == 3


def test_random_numbers_are_those_of_eager_mode():
    def f(x):
        return F.dropout(x, 0.5) + tw.rand(4), tw.randint(10, (3,)), tw.normal(0.0, 1.0, (2,))

    static = tw.jit(f)
    tw.manual_seed(3)
    eager = [f(tw.ones(4)) for _ in range(3)]
    tw.manual_seed(3)
    for expected in eager:
        for a, b in zip(expected, static(tw.ones(4))):
            assert a.tolist() == b.tolist()


def test_gradients_stay_in_grad_and_add_up():
    def f(w, x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    a, b = (nn.Parameter(tw.ones(3)) for _ in range(2))
    static = tw.jit(lambda x: f(b, x))
    for i in range(3):
        x = tw.full((3,), float(i + 1))
        assert f(a, x).item() == static(x).item()
        assert a.grad.tolist() == b.grad.tolist()
    a.grad = b.grad = None
    f(a, tw.ones(3)), static(tw.ones(3))
    assert a.grad.tolist() == b.grad.tolist() == [1, 1, 1]


def test_custom_functions_hooks_and_second_derivatives():
    class Cube(tw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    def f(x):
        y = Cube.apply(x) + x.exp()
        (first,) = tw.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = tw.autograd.grad(first.sum(), x)
        return y.detach(), first.detach(), second

    x = tw.tensor([0.5, -1.0], requires_grad=True)
    for a, b in zip(f(x), tw.jit(f)(x)):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_running_statistics_and_the_mode_of_modules():
    def make():
        tw.manual_seed(0)
        return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.3))

    a, b = make(), make()
    static = tw.jit(lambda x: b(x).detach())
    for training in (True, True, False, True):
        x = tw.randn(4, 2, 5, 5)
        a.train(training), b.train(training)
        tw.manual_seed(1)
        expected = a(x)
        tw.manual_seed(1)
        np.testing.assert_array_equal(expected.detach().numpy(), static(x).numpy())
    for (name, left), (_, right) in zip(a.named_buffers(), b.named_buffers()):
        assert left.tolist() == right.tolist(), name
    assert static.trace_count == 2


def test_autocast_is_recorded():
    layer = nn.Linear(4, 4)

    def f(x):
        with tw.autocast("cpu", dtype=tw.bfloat16):
            return layer(x).detach()

    x = tw.randn(3, 4)
    assert tw.jit(f)(x).dtype == tw.bfloat16 and tw.jit(f)(x).tolist() == f(x).tolist()


def test_values_that_a_trace_cannot_know_are_errors():
    @tw.jit
    def item(x):
        return x.sum().item()

    @tw.jit
    def number(x):
        return x * int(x.sum())

    @tw.jit
    def sizes(x):
        return x.nonzero()

    for f in (item, number):
        with pytest.raises(RuntimeError, match="traced function"):
            f(tw.ones(2))
    with pytest.raises(RuntimeError, match="nonzero.*depends on data"):
        sizes(tw.ones(2))
    assert (tw.ones(2) + 1).tolist() == [2, 2]  # the thread is out of the trace


def test_a_failed_trace_leaves_gradients_and_numbers_alone():
    w = nn.Parameter(tw.ones(2))
    optimizer = tw.optim.SGD([w], lr=0.5)

    @tw.jit
    def f(x):
        (w * x).sum().backward()
        optimizer.step()
        raise KeyError("stop")

    with pytest.raises(KeyError):
        f(tw.ones(2))
    assert w.grad is None and w.tolist() == [1, 1] and optimizer.param_groups[0]["lr"] == 0.5


def test_a_failed_run_names_the_op_and_the_next_works():
    table = tw.arange(3.0)
    f = tw.jit(lambda i: table[i])
    assert f(tw.tensor([0, 2])).tolist() == [0, 2]
    with pytest.raises(IndexError, match="index"):
        f(tw.tensor([0, 9]))
    assert f(tw.tensor([1, 1])).tolist() == [1, 1]


def test_explain_says_why_each_trace_was_made():
    layer = nn.Dropout(0.5)
    optimizer = tw.optim.SGD([nn.Parameter(tw.ones(2))], lr=0.5, momentum=0)

    @tw.jit
    def f(x, name):
        (optimizer.param_groups[0]["params"][0] * layer(x)).sum().backward()
        optimizer.step()

    x = tw.ones(2)
    f(x, "a"), f(x, "b"), f(tw.ones(1), "b")
    layer.eval()
    f(tw.ones(1), "b")
    optimizer.param_groups[0]["maximize"] = True
    f(tw.ones(1), "b")
    text = tw.jit.explain(f)
    for part in (
        "first call",
        "no tensors differ",
        "shape of tensor 0",
        "training of a Dropout was True",
        "'maximize'",
    ):
        assert part in text, text
    with pytest.raises(TypeError, match="tw.jit"):
        tw.jit.explain(len)


def test_the_cache_is_bounded_and_arguments_must_be_keys():
    f = tw.jit(lambda x, name: x * len(name))
    for n in range(50):
        assert f(tw.ones(1), "a" * n).item() == n
    assert len(f.programs()) <= 32 and f(tw.ones(1), "a" * 49).item() == 49 and f.trace_count == 50
    with pytest.raises(TypeError, match="keys of a dict"):
        f(tw.ones(1), {1, 2})


def test_ints_that_decide_sizes_are_guarded():
    counter = {"count": 1}

    class Counting(tw.optim.SGD):
        def step(self):
            group = self.param_groups[0]
            group["count"] += 1
            counter["sum"] = tw.arange(6.0).narrow(0, 0, group["count"]).sum()

    optimizer = Counting([nn.Parameter(tw.ones(1))], lr=1.0)
    optimizer.param_groups[0]["count"] = 0

    @tw.jit
    def f():
        optimizer.step()
        return counter["sum"]

    assert [f().item() for _ in range(4)] == [0, 1, 3, 6]


@pytest.mark.parametrize("dtype", [tw.float16, tw.bfloat16])
def test_numbers_beside_half_types(dtype):
    x, end, index = tw.arange(4).to(dtype), tw.full((4,), 7, dtype=dtype), tw.tensor([0, 2])
    for function in (
        lambda: tw.lerp(x, end, 0.4),  # 0.4 in float32: rounded to the half type it is another weight
        lambda: tw.scatter(x, 0, index, 0.4),
        lambda: tw.index_fill(x, 0, index, 0.4),
        lambda: x * 0.4 + 1,
    ):
        assert (tw.jit(function)() == function()).all()
