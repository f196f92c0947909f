"""Static programs on CUDA: what eager mode gives there, to the last bit, and what the CPU gives, to rounding."""

import numpy as np
import pytest
import thalweg as tw
from example_modules import example
from thalweg import nn
from thalweg._registry import ops
from thalweg.nn import functional as F

CUDA = tw.device("cuda:0")


def graph_of(compiled):
    return compiled.programs()[0].step.graph_text()


def network(device, seed=0):
    tw.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(16), nn.Linear(16, 4))
    return model.to(device)


def train(device, compiled, steps=5):
    """The losses of a small network and its weights, with another rate and another batch in each step."""
    model = network(device)
    optimizer = tw.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    run = tw.jit(step) if compiled else step
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(steps):
        optimizer.param_groups[0]["lr"] *= 0.9
        x = tw.from_numpy(rng.standard_normal((8, 6), dtype=np.float32)).to(device)
        losses.append(run(x, tw.from_numpy(rng.integers(0, 4, 8)).to(device)))
    assert all(loss.device.type == device for loss in losses)
    return [loss.item() for loss in losses], [p.tolist() for p in model.parameters()], run


def test_a_program_knows_its_device():
    x = tw.linspace(-1, 1, 12).reshape(3, 4).cuda()
    w = tw.ones(4, device="cuda")
    f = tw.jit(lambda a: (a * w + 1).tanh().sum(0))
    result = f(x)
    assert result.device == CUDA
    assert result.tolist() == (x * w + 1).tanh().sum(0).tolist()
    assert f(x * 2).tolist() == (x * 2 * w + 1).tanh().sum(0).tolist() and f.trace_count == 1
    assert graph_of(f).startswith('graph "<lambda>" on "cuda:0" {')
    assert f.plan().streams == ["compute on cuda:0"]


def test_the_arena_lies_in_the_memory_of_the_device():
    x = tw.ones(1024, 64, device="cuda")
    f = tw.jit(lambda a: (a.exp() @ a.t()).sum())
    before = tw.cuda.memory_allocated()
    f(x)
    product = 1024 * 1024 * 4
    assert f.programs()[0].step.arena_bytes() >= product
    assert tw.cuda.memory_allocated() - before >= product


def test_a_training_step_is_that_of_eager_mode():
    losses, weights, _ = train("cuda", compiled=False)
    static_losses, static_weights, run = train("cuda", compiled=True)
    assert static_losses == losses and static_weights == weights
    assert run.trace_count <= 3
    assert np.allclose(static_losses, train("cpu", compiled=True)[0], rtol=1e-4)


def test_gpt_with_dropout_learns_what_it_learns_in_eager_mode():
    def losses(device, compiled):
        tw.manual_seed(0)
        model = example("gpt").GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.1).to(device)
        tokens = tw.tensor(np.random.default_rng(0).integers(0, 11, (3, 9))).to(device)
        optimizer = tw.optim.AdamW(model.parameters(), lr=3e-2)

        def step(tokens):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss.detach()

        run = tw.jit(step) if compiled else step
        return [run(tokens).item() for _ in range(4)]

    expected = losses("cuda", False)
    assert losses("cuda", True) == expected and expected[3] < expected[0]
    assert np.allclose(losses("cpu", True), expected, rtol=1e-4)


def test_a_network_of_images_learns_what_it_learns_in_eager_mode():
    def losses(device, compiled):
        tw.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
        ).to(device)
        optimizer = tw.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = tw.jit(step) if compiled else step
        rng = np.random.default_rng(0)
        x = tw.from_numpy(rng.standard_normal((4, 1, 8, 8), dtype=np.float32)).to(device)
        y = tw.from_numpy(rng.integers(0, 3, 4)).to(device)
        found = [run(x, y).item() for _ in range(3)]
        model.eval()
        infer = tw.jit(model) if compiled else model
        with tw.no_grad():
            return found, infer(x).tolist()

    expected = losses("cuda", False)
    assert losses("cuda", True) == expected
    on_cpu = losses("cpu", True)
    assert np.allclose(on_cpu[0], expected[0], rtol=1e-4) and np.allclose(on_cpu[1], expected[1], atol=1e-4)


def test_results_are_differentiated_outside():
    model = network("cuda")
    model.eval()
    x = tw.ones(3, 6, device="cuda", requires_grad=True)
    model(x).square().sum().backward()
    expected = [x.grad.tolist(), *[p.grad.tolist() for p in model.parameters()]]
    x.grad = None
    model.zero_grad()
    tw.jit(model)(x).square().sum().backward()
    assert [x.grad.tolist(), *[p.grad.tolist() for p in model.parameters()]] == expected
    assert x.grad.device == CUDA


def test_variables_are_written_where_they_lie():
    total = tw.zeros(3, device="cuda")
    view = total[1:]

    @tw.jit
    def add(x, scale):
        view.add_(x, alpha=scale)
        return total * 2

    assert add(tw.ones(2, device="cuda"), 2).tolist() == [0, 4, 4]
    assert add(tw.ones(2, device="cuda"), 3).tolist() == [0, 10, 10]
    assert total.tolist() == [0, 5, 5] and add.trace_count == 1
    x = tw.ones(2, device="cuda")
    tw.jit(lambda a: a.mul_(3))(x)
    assert x.tolist() == [3, 3]


def test_numbers_and_0_dim_tensors_of_the_cpu_go_along():
    scale = tw.tensor(2.0)
    f = tw.jit(lambda x, n: x * scale + n)
    x = tw.ones(2, device="cuda")
    assert f(x, 1.0).tolist() == [3, 3]
    scale.fill_(5)
    assert f(x, 0.5).tolist() == [5.5, 5.5] and f.trace_count == 1


def test_tensors_move_into_and_out_of_a_program():
    table = tw.arange(4.0)

    @tw.jit
    def f(x):
        y = x.to("cuda") * table.cuda() + tw.tensor([1.0, 2.0, 3.0, 4.0], device="cuda")
        return y, y.sum().cpu(), y.cpu()

    for x in (tw.ones(4), tw.full((4,), 2.0)):
        there, total, here = f(x)
        expected = (x * tw.arange(4.0) + tw.tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        assert there.device == CUDA and there.tolist() == expected
        assert total.is_cpu and total.item() == sum(expected)
        assert here.is_cpu and here.tolist() == expected
    table.fill_(1)
    assert f(tw.ones(4))[0].tolist() == [2, 3, 4, 5] and f.trace_count == 1


def test_what_is_made_of_nothing_goes_along():
    def f(x):
        weights = tw.tensor(np.array([0.5, 2.0, 1.5]), dtype=tw.float32, device="cuda")
        mask = (tw.ones(3, 3).tril() * 2).to("cuda")
        return x @ mask * weights, tw.arange(3) + 1

    compiled, x = tw.jit(f), tw.linspace(0, 1, 6).reshape(2, 3).cuda()
    for _ in range(3):
        there, here = compiled(x)
        assert there.tolist() == f(x)[0].tolist() and there.device == CUDA
        assert here.is_cpu and here.tolist() == [1, 2, 3]


def test_gradients_cross_devices():
    x = tw.tensor([1.0, 2.0], requires_grad=True)
    tw.jit(lambda a: (a.cuda() ** 2).cpu())(x).backward(tw.ones(2))
    assert x.grad.is_cpu and x.grad.tolist() == [2, 4]


def test_every_device_has_a_program_of_its_own():
    f = tw.jit(lambda x: x + 1)
    for x in (tw.ones(2), tw.ones(2, device="cuda"), tw.ones(2, device="cuda:1"), tw.ones(2, device="cuda")):
        assert f(x).device == x.device and f(x).tolist() == [2, 2]
    assert f.trace_count == 3
    assert "device of tensor 0 was cpu, and is cuda:0" in f.explain()


def test_a_module_that_moves_is_traced_anew():
    model = nn.Linear(2, 2)
    f = tw.jit(lambda x: model(x))
    with tw.no_grad():
        here = f(tw.ones(2)).tolist()
        model.cuda()
        there = f(tw.ones(2, device="cuda"))
        assert there.device == CUDA and np.allclose(there.tolist(), here)


def test_what_lies_on_several_devices_is_an_error():
    x, y = tw.ones(2, device="cuda"), tw.ones(2)
    with pytest.raises(ValueError, match=r"add: all tensors must lie on one device, got cpu and cuda:0 \(at .*:\d+\)"):
        tw.jit(lambda a: a + y)(x)
    other = tw.ones(2, device="cuda:1")
    with pytest.raises(ValueError, match=r"argument 1.*on cuda:1, and argument 0.* on cuda:0; .*move tensors"):
        tw.jit(lambda a, b: (a + 1, b + 1))(x, other)
    with pytest.raises(ValueError, match=r"add \(at .*\d+\): it is on cpu, and argument 0.* on cuda:0"):
        tw.jit(lambda a, b: (a * 2, b + 1))(x, y)
    with pytest.raises(ValueError, match=r"add \(at .*\): it is on cuda:0, and mul \(at .* on cpu"):
        tw.jit(lambda b: (b * 2, x + 1))(y)
    with pytest.raises(ValueError, match=r"to \(at .*\): it is on cuda:1, and argument 0.* on cuda:0"):
        tw.jit(lambda a: a.to("cuda:1"))(x)


def test_a_tensor_of_the_cpu_is_not_written():
    count = tw.tensor(0.0)

    def step(x):
        count.add_(1)
        return x + count

    with pytest.raises(NotImplementedError, match="it runs on cuda:0 and writes .*, which lies on cpu; move that"):
        tw.jit(step)(tw.ones(2, device="cuda"))
    assert count.item() == 0


def test_an_op_without_a_kernel_is_an_error_with_its_line():
    with pytest.raises(
        NotImplementedError, match=r"eigvals.*: there is no kernel for device cuda:0 \(at .*test_graphs.py:"
    ):
        tw.jit(lambda x: tw.linalg.eigvals(x))(tw.ones(2, 2, device="cuda"))


def test_passes_leave_out_what_the_device_has_no_kernel_for():
    def ops(device):
        f = tw.jit(lambda x: (x * 2).exp().relu() + x)
        f(tw.ones(64, 1024, device=device))
        return graph_of(f)

    assert "by_rows" in ops("cpu") and "by_rows" not in ops("cuda")


def test_a_program_runs_on_the_current_stream():
    w = tw.ones(4, device="cuda")
    f = tw.jit(lambda x: ((x + w) * 2).sum(0))
    x = tw.ones(3, 4, device="cuda")
    expected = f(x).tolist()
    stream = tw.cuda.Stream()
    stream.wait_stream(tw.cuda.current_stream())
    with tw.cuda.stream(stream):
        assert f(x).tolist() == expected
    assert f(x).tolist() == expected and f.trace_count == 1


def test_callbacks_and_steps_in_flight():
    seen = []

    def step(x):
        tw.jit.callback(lambda total: seen.append(total.item()), x.sum())
        return x * 2

    f = tw.jit(step, asynchronous=True)
    results = [f(tw.full((2,), float(i), device="cuda")) for i in range(4)]
    tw.synchronize()
    assert seen == [0, 2, 4, 6] and [r.tolist() for r in results] == [[0, 0], [2, 2], [4, 4], [6, 6]]


def test_an_error_of_a_kernel_names_the_op():
    table = nn.Embedding(3, 2).cuda()
    f = tw.jit(lambda i: table(i))
    with pytest.raises(IndexError, match=r"embedding: index 7 is out of bounds"):
        f(tw.tensor([7]).cuda()).cpu()
    assert f(tw.tensor([2]).cuda()).shape == (1, 2)


def test_nn_graph():
    class Step(nn.Graph):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def build(self, x):
            return self.model(x).sum()

    model = network("cuda").eval()
    with tw.no_grad():
        x = tw.ones(3, 6, device="cuda")
        assert Step(model)(x).item() == model(x).sum().item()


@pytest.mark.parametrize("saved_on, loaded_on", [("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")])
def test_saved_graphs_run_where_they_are_loaded(tmp_path, saved_on, loaded_on):
    path = str(tmp_path / "model.tw")
    model = network("cpu").eval()
    x = tw.linspace(-1, 1, 18).reshape(3, 6)
    with tw.no_grad():
        expected = model(x).numpy()
        tw.save_graph(path, model.to(saved_on), x.to(saved_on))
        graph = tw.load_graph(path, device=loaded_on)
        result = graph(x.to(loaded_on))
    assert result.device.type == loaded_on and {v.device.type for v in graph.variables.values()} == {loaded_on}
    assert np.allclose(result.cpu().numpy(), expected, atol=1e-5)


def recorded(compiled):
    step = compiled.programs()[0].step
    return step.recorded_launches(), step.launch_count()


def test_launches_are_captured_in_the_second_run_and_replayed():
    w = tw.linspace(-1, 1, 16).reshape(4, 4).cuda()

    def f(x, scale):
        return ((x @ w).tanh() * scale).sum(0), F.dropout(x, 0.5) @ w

    compiled = tw.jit(f)
    kept = []
    for i in range(6):
        x = tw.linspace(0, i, 12).reshape(3, 4).cuda()
        tw.manual_seed(i)
        kept.append((compiled(x, 0.5 * i), i, x))
        now, count = recorded(compiled)
        assert now == (count if i else 0)
    for results, i, x in kept:  # every run has results of its own
        tw.manual_seed(i)
        for result, expected in zip(results, f(x, 0.5 * i), strict=True):
            assert result.tolist() == expected.tolist()
    assert compiled.trace_count == 1


def test_what_waits_is_left_out_of_the_graphs():
    table = tw.linspace(0, 1, 12).reshape(4, 3).cuda()

    def f(i, x):
        y = (x * 2).exp()
        ops.assert_none(i > 2, "ValueError", "the last row is taken")
        return F.embedding(i, table).tanh().square() + y.cos()

    compiled = tw.jit(f)
    x = tw.ones(2, 3, device="cuda")
    for k in range(5):
        i = tw.tensor([k % 3, 1]).cuda()
        assert compiled(i, x).tolist() == f(i, x).tolist()
    now, count = recorded(compiled)
    assert 2 <= now < count
    with pytest.raises(ValueError, match="the last row is taken"):
        compiled(tw.tensor([3, 1]).cuda(), x)
    i = tw.tensor([2, 1]).cuda()
    assert compiled(i, x).tolist() == f(i, x).tolist()


def test_a_step_with_an_embedding_and_a_loss_is_one_graph():
    table = nn.Embedding(5, 4).cuda()

    def loss(i, target):
        result = F.cross_entropy(table(i), target)
        return result, *tw.autograd.grad(result, [table.weight])

    compiled = tw.jit(loss)
    target = tw.tensor([0, 3]).cuda()
    for k in range(4):
        i = tw.tensor([k, 1]).cuda()
        for got, expected in zip(compiled(i, target), loss(i, target), strict=True):
            assert got.tolist() == expected.tolist()
        now, count = recorded(compiled)
        assert now == (count if k else 0)
    with pytest.raises(IndexError, match="embedding: index 9 is out of bounds for a table of 5 rows"):
        compiled(tw.tensor([9, 1]).cuda(), target)[0].item()
    assert compiled(i, target)[0].item() == loss(i, target)[0].item()


def test_graphs_may_be_turned_off():
    x = tw.ones(3, device="cuda")
    before = tw.cuda.allow_graphs(False)
    try:
        f = tw.jit(lambda a: (a * 2).exp().sum())
        for _ in range(4):
            assert f(x).item() == (x * 2).exp().sum().item()
        assert recorded(f)[0] == 0
    finally:
        tw.cuda.allow_graphs(before)


def test_a_captured_program_runs_on_other_streams_and_other_memory():
    w = tw.ones(4, 4, device="cuda")
    f = tw.jit(lambda a: ((a @ w) * 3).sum(0))
    x = tw.linspace(0, 1, 8).reshape(2, 4).cuda()
    expected = ((x @ w) * 3).sum(0).tolist()
    streams = [tw.cuda.Stream(), tw.cuda.Stream()]
    for k in range(6):
        tw.cuda.empty_cache()
        with tw.cuda.stream(streams[k % 2]):
            assert f(x.clone()).tolist() == expected
    w.data = tw.zeros(4, 4, device="cuda")
    assert f(x).tolist() == [0, 0, 0, 0]


def test_branches_and_loops():
    def collatz(n):
        count = tw.zeros((), dtype=tw.int64, device="cuda")
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count = count + 1
        return count

    compiled = tw.jit(collatz)
    for n in (6, 7, 1, 27):
        assert compiled(tw.tensor(n).cuda()).item() == collatz(tw.tensor(n)).item()
    assert compiled.trace_count == 1


def test_scans_and_their_gradients():
    def f(h, xs, w):
        def step(h, x):
            h = (h @ w + F.dropout(x, 0.5)).tanh()
            return h, h.sum()

        h, sums = tw.scan(step, h, xs)
        return (h.square().sum() + sums.sum()).backward() if h.requires_grad else (h, sums)

    w = tw.linspace(-1, 1, 9).reshape(3, 3).cuda().requires_grad_()
    h, xs = tw.zeros(2, 3, device="cuda"), tw.linspace(0, 1, 24).reshape(4, 2, 3).cuda()

    def train(run):
        grads = []
        for seed in range(3):
            tw.manual_seed(seed)
            w.grad = None
            run(h, xs, w)
            grads.append(w.grad.tolist())
        return grads

    assert train(tw.jit(f)) == train(f)


def test_parts_of_a_batch():
    def losses(device):
        model = network(device).eval()  # without dropout
        optimizer = tw.optim.SGD(model.parameters(), lr=0.1)

        def loss_of(x, y):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss.detach()

        @tw.jit
        def step(x, y):
            optimizer.zero_grad()
            loss = tw.micro_batches(loss_of, 4)(x, y)
            optimizer.step()
            return loss

        x, y = tw.linspace(-1, 1, 48).reshape(8, 6).to(device), tw.ones(8, 4).to(device)
        return [step(x, y).mean().item() for _ in range(4)]

    assert np.allclose(losses("cuda"), losses("cpu"), rtol=1e-4)
