"""Static programs of global tensors on CUDA devices of this process: what eager mode gives there and what one device
gives, with launches in CUDA graphs and communications between them.
"""

import numpy as np
import pytest
import thalweg as tw
from example_modules import example
from functions_of_two import FUNCTIONS, pair
from parallel_steps import MAX, MESHES, PLANS, B, P, S, cuda, gpt_losses, lies_on, mlp_losses
from thalweg import nn
from thalweg.nn import functional as F

pytestmark = pytest.mark.usefixtures("four_devices")


def step_of(compiled):
    return compiled.programs()[0].step


def test_a_program_runs_on_the_devices_of_its_placement():
    line = cuda([0, 1, 2])
    x = tw.arange(12.0, placement=line, sbp=S(0)).view(6, 2)
    f = tw.jit(lambda a: (a * 2 + 1, (a * a).sum()))
    for k in range(4):
        scaled, total = f(x * k)
        assert scaled.sbp == (S(0),) and lies_on(scaled, [0, 1, 2])
        assert scaled.tolist() == (x * k * 2 + 1).tolist()
        assert total.to_global(sbp=B).item() == k * k * 506 and lies_on(total, [0, 1, 2])
    assert f.trace_count == 1
    assert step_of(f).graph_text().startswith('graph "<lambda>" on "cuda:0" {')


def test_every_device_has_a_stream_and_communication_one_of_its_own():
    line = cuda([0, 1])
    w = tw.ones(4, 3, placement=line, sbp=B, requires_grad=True)

    @tw.jit
    def step(x):
        w.grad = None
        (x @ w).square().sum().backward()
        return w.grad

    x = tw.arange(24.0, placement=line, sbp=S(0)).view(6, 4)
    expected = 2 * x.numpy().T @ (x.numpy() @ np.ones((4, 3)))
    for _ in range(3):
        found = step(x)
        assert found.sbp == (B,)
        for part in found.to_local():
            np.testing.assert_allclose(part.cpu().numpy(), expected)
    assert step.plan().streams == ["compute on cuda:0", "compute on cuda:1", "communication on cuda:0"]


def test_arenas_lie_in_the_memory_of_their_devices():
    x = tw.ones(512, 16, placement=cuda([1, 3]), sbp=S(0))
    f = tw.jit(lambda a: (a.exp() @ a.to_global(sbp=B).t()).sum())
    before = [tw.cuda.memory_allocated(k) for k in range(4)]
    f(x)
    product = 256 * 512 * 4
    more = [tw.cuda.memory_allocated(k) - before[k] for k in range(4)]
    assert more[1] >= product and more[3] >= product
    assert more[0] < product and more[2] < product


def test_literals_that_parts_share_lie_on_every_device():
    line = cuda([0, 1, 2])

    @tw.jit
    def f(x):
        mask = tw.ones(3, 3, placement=line, sbp=B).tril()
        return x @ mask + tw.arange(3, placement=line, sbp=B), tw.zeros(4, placement=line, sbp=S(0))

    x = tw.arange(18.0, placement=line, sbp=S(0)).view(6, 3)
    expected = x.numpy() @ np.tril(np.ones((3, 3))) + np.arange(3)
    for _ in range(3):
        found, zeros = f(x)
        assert (found.numpy() == expected).all() and zeros.tolist() == [0] * 4 and lies_on(zeros, [0, 1, 2])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name):
    function, mesh, how = FUNCTIONS[name], cuda([[0, 1], [2, 3]]), [S(0), S(1)]
    spread = [t.detach().to_global(mesh, how) for t in pair()]

    def both(*given):
        leaves = [t.detach().requires_grad_() for t in given]
        result = function(*leaves)
        gradients = tw.autograd.grad(result.sum(), leaves, allow_unused=True)
        return [result.detach().to_global(sbp=[B, B]), *[g.to_global(sbp=[B, B]) for g in gradients if g is not None]]

    expected = both(*spread)
    compiled = tw.jit(both)
    for _ in range(3):
        found = compiled(*spread)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert lies_on(a, [0, 1, 2, 3])
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-6)


LAYOUTS = [S(0), S(1), S(0, unit=2), B, P, MAX]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "int16"])
def test_boxing(dtype):
    x = tw.tensor(np.random.default_rng(0).integers(-9, 9, (7, 5))).to(getattr(tw, dtype))
    wanted = x.double().tolist()
    for from_ranks, to_ranks in [([0, 1, 2], [0, 1, 2]), ([0, 1], [3, 1]), ([2], [0, 1])]:
        for a in LAYOUTS:
            laid = x.to_global(cuda(from_ranks), a)
            f = tw.jit(lambda x, to: [x.to_global(to, how) for how in LAYOUTS], static_argnums=1)
            for _ in range(2):
                for how, found in zip(LAYOUTS, f(laid, cuda(to_ranks)), strict=True):
                    assert found.sbp == (how,) and lies_on(found, to_ranks)
                    assert found.cpu().double().tolist() == wanted, (from_ranks, a, to_ranks, how)


def test_local_tensors_become_global_inside():
    line, table = cuda([0, 1]), tw.arange(4.0)

    @tw.jit
    def f(x, y):
        return x.to_global(line, S(0)) * 2 + y.to_global(line, B) + table.to_global(line, S(0))

    for device in ("cpu", "cuda:0", "cuda:3"):
        x = tw.tensor([1.0, 2.0, 3.0, 4.0], device=device)
        assert f(x, tw.ones(4)).tolist() == [3, 6, 9, 12]
    table.fill_(1)
    assert f(tw.zeros(4), tw.ones(4)).tolist() == [2, 2, 2, 2]


def test_parts_are_local_tensors_of_their_devices():
    line = cuda([0, 1])

    @tw.jit
    def f(x):
        parts = [(k + 1) * part.exp() for k, part in enumerate(x.to_local())]
        assert [part.device for part in parts] == [tw.device("cuda:0"), tw.device("cuda:1")]
        here = parts[0] + parts[1].to("cuda:0")
        return tw.local_to_global(parts, line, S(0)), here, parts[1].sum().cpu()

    x = tw.arange(4.0, placement=line, sbp=S(0))
    for _ in range(3):
        whole, here, total = f(x)
        expected = np.exp(np.arange(4.0)) * [1, 1, 2, 2]
        np.testing.assert_allclose(whole.numpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(here.cpu().numpy(), expected[:2] + expected[2:], rtol=1e-6)
        assert here.device == tw.device("cuda:0") and lies_on(whole, [0, 1])
        assert total.is_cpu and abs(total.item() - expected[2:].sum()) < 1e-4


def test_launches_between_communications_are_recorded():
    line = cuda([0, 1])
    w = tw.linspace(-1, 1, 16).reshape(4, 4).to_global(line, B)

    def f(x):
        y = ((x @ w).tanh() * 2).square()
        total = y.sum(0).to_global(sbp=B)
        return (total + 1).sqrt() * x.exp()

    compiled = tw.jit(f)
    for k in range(5):
        x = tw.linspace(0, k, 24).reshape(6, 4).to_global(line, S(0))
        np.testing.assert_allclose(compiled(x).numpy(), f(x).numpy(), rtol=1e-5)
        recorded, count = step_of(compiled).recorded_launches(), step_of(compiled).launch_count()
        assert (0 < recorded < count) if k else recorded == 0
    before = tw.cuda.allow_graphs(False)
    try:
        plain = tw.jit(f)
        for _ in range(3):
            assert plain(x).tolist() == compiled(x).tolist()
        assert step_of(plain).recorded_launches() == 0
    finally:
        tw.cuda.allow_graphs(before)


def test_it_runs_on_the_current_streams():
    line = cuda([0, 1])
    f = tw.jit(lambda a: (a * 3).sum().to_global(sbp=B))
    x = tw.arange(6.0, placement=line, sbp=S(0))
    for _ in range(3):
        streams = [tw.cuda.Stream(device=k) for k in (0, 1)]
        for stream in streams:
            stream.wait_stream(tw.cuda.current_stream(stream.device))
        with tw.cuda.stream(streams[0]), tw.cuda.stream(streams[1]):
            assert f(x).item() == 45
    assert f(x).item() == 45


def test_variables_are_written_where_they_lie():
    line = cuda([0, 1])
    total = tw.zeros(4, placement=line, sbp=S(0))

    @tw.jit
    def add(x, scale):
        total.add_(x, alpha=scale)
        return total.sum().to_global(sbp=B)

    x = tw.ones(4, placement=line, sbp=S(0))
    assert add(x, 2).item() == 8 and add(x, 3).item() == 20
    assert total.tolist() == [5] * 4 and add.trace_count == 1
    tw.jit(lambda a: a.mul_(3))(x)
    assert x.tolist() == [3] * 4


def test_random_numbers_are_those_of_eager_mode():
    def f(x):
        return F.dropout(x, 0.5), tw.rand(5, placement=x.placement, sbp=B)

    x = tw.ones(6, 4, placement=cuda([0, 1]), sbp=S(0))
    compiled = tw.jit(f)
    for seed in range(4):
        tw.manual_seed(seed)
        expected = f(x)
        tw.manual_seed(seed)
        for a, b in zip(compiled(x), expected, strict=True):
            assert a.tolist() == b.tolist()


@pytest.mark.parametrize("plan", PLANS)
def test_a_training_step_is_that_of_eager_mode(plan):
    losses = mlp_losses(plan, compiled=True)
    np.testing.assert_allclose(losses, mlp_losses(plan), rtol=2e-5)
    assert losses[4][0] < losses[0][0]


@pytest.mark.parametrize("shape, roles", MESHES)
def test_gpt_learns_what_it_learns_in_eager_mode_and_on_one_device(shape, roles):
    losses = gpt_losses("cuda", shape, roles, compiled=True)
    np.testing.assert_allclose(losses, gpt_losses("cuda", shape, roles), rtol=1e-4)
    np.testing.assert_allclose(losses, gpt_losses("cuda", compiled=True), rtol=1e-4)


def test_loops_on_several_devices():
    line = cuda([0, 1])

    def shrink(x):
        count = tw.zeros((), dtype=tw.int64, placement=line, sbp=B)
        while x.abs().sum() > 1:
            x = x / 2
            count = count + 1
        return x if x.sum() > 0 else -x, count

    def scan(x):
        rows = tw.stack([x, x * 2, -x])
        return tw.scan(lambda h, row: ((h + row).tanh(), h.sum()), tw.zeros_like(x), rows)

    for function in (shrink, scan):
        compiled = tw.jit(function)
        for k in range(1, 5):
            x = tw.tensor([-1.0, 2.0 * k, 3.0, -4.0], placement=line, sbp=S(0))
            for a, b in zip(compiled(x), function(x), strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_a_loop_draws_the_numbers_of_eager_mode():
    line = cuda([0, 1])

    def f(x):
        count = tw.zeros((), dtype=tw.int64, placement=line, sbp=B)
        while x.sum() < 4:
            x = x + tw.rand(4, placement=line, sbp=S(0))
            count = count + 1
        return x, count, tw.rand(3, placement=line, sbp=B)

    compiled = tw.jit(f)
    for seed in range(3):
        x = tw.zeros(4, placement=line, sbp=S(0))
        tw.manual_seed(seed)
        expected = f(x)
        tw.manual_seed(seed)
        for a, b in zip(compiled(x), expected, strict=True):
            assert a.tolist() == b.tolist()


def test_branches_on_several_devices():
    line, other = cuda([0, 1]), cuda([2, 3])
    w = tw.linspace(-1, 1, 9).reshape(3, 3).to_global(line, B).requires_grad_()

    def train(x):
        w.grad = None
        h = tw.cond(x.sum() > 1, lambda h: (h @ w).tanh(), lambda h: (h @ w.t()).sigmoid(), (x,))
        loss = h.square().sum()
        loss.backward()
        return loss.detach(), w.grad

    def of_parts(x):
        parts = [tw.cond(p.sum() > 0, lambda p: p * 2, lambda p: p - 1, (p,)) for p in x.to_local()]
        return (tw.local_to_global(parts, line, S(0)),)

    def of_stages(x):
        y = x.to_global(other, S(0))
        return tw.cond(
            x.sum() > 0, lambda x, y: (x * 2, y + x.to_global(other, S(0))), lambda x, y: (x - 1, y * 3), (x, y)
        )

    for function in (train, of_parts, of_stages):
        compiled = tw.jit(function)
        for k in (-1.0, 2.0, -3.0, 4.0):
            x = (tw.linspace(-1, 2, 12).reshape(4, 3) * k).to_global(line, S(0))
            for a, b in zip(compiled(x), function(x), strict=True):
                np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_an_error_of_a_kernel_is_told_and_the_next_run_works():
    line = cuda([0, 1])
    table = nn.Embedding(4, 3).to_global(line, B)
    f = tw.jit(lambda ids: table(ids).sum().to_global(sbp=B))
    good = tw.tensor([0, 1, 2, 3]).to_global(line, S(0))
    with tw.no_grad():
        expected = table.weight.sum().item()
        assert abs(f(good).item() - expected) < 1e-5
        with pytest.raises(IndexError, match="embedding: index 9 is out of bounds for a table of 4 rows"):
            f(tw.tensor([0, 1, 2, 9]).to_global(line, S(0))).item()  # told to whoever waits
        for _ in range(3):
            assert abs(f(good).item() - expected) < 1e-5


def test_what_does_not_lie_there_is_an_error():
    line = cuda([0, 1])
    x = tw.ones(4, placement=line, sbp=S(0))
    with pytest.raises(tw.PlacementError, match="a local tensor of shape"):
        tw.jit(lambda a, b: a + b)(x, tw.ones(4, device="cuda"))
    with pytest.raises(ValueError, match=r"add \(at .*\): it is on cpu, and a global tensor.* on cuda:0; .*global"):
        tw.jit(lambda a, b: (a * 2, b + 1))(x, tw.ones(4))
    with pytest.raises(ValueError, match=r"a global tensor.* on c.*, and a global tensor.* on c"):
        tw.jit(lambda a: a.to_global(tw.placement("cpu", [0, 1]), B))(x)


SMALL = (
    "--steps 6 --batch 4 --context 8 --width 16 --layers 1 --heads 2 --dropout 0.1 --lr 0.02 --warmup 2 "
    "--eval-every 3 --eval-batches 1 --sample 12 --device cuda"
).split()


def test_the_example_trains_and_samples_on_any_devices_as_on_one(tmp_path, capsys):
    book = tmp_path / "book.txt"
    book.write_text("the quick brown fox jumps over the lazy dog, and " * 40)

    def learnt(name, *options):
        arguments = [*SMALL, "--data", str(book), "--out", str(tmp_path / name), *options]
        losses = example("train_gpt").main(arguments).losses
        return losses, capsys.readouterr().out.rsplit("validation loss", 2)[1].split("\n", 1)[1]

    one, sample = learnt("one")
    assert one[5] < one[0] and len(sample.rstrip("\n")) >= 12
    for options in ("--graph", "--devices 4 --graph", "--mesh 2x2 --plan dp,tp --graph", "--devices 2"):
        losses, text = learnt(options.replace(" ", ""), *options.split())
        np.testing.assert_allclose(losses, one, rtol=1e-4)
        assert text == sample
