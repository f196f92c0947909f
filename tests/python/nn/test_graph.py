import numpy as np
import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.nn import functional as F


def make(seed=0):
    tw.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    return model, optimizer, optim.lr_scheduler.StepLR(optimizer, 2, 0.5)


class Train(nn.Graph):
    def __init__(self, model, optimizer, schedule):
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer, lr_sch=schedule)

    def build(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        return loss


class Predict(nn.Graph):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def build(self, x):
        return self.model(x).softmax(-1)


def test_training_is_that_of_eager_mode():
    model, optimizer, schedule = make()
    graph = Train(*make())
    assert graph.training and not graph.is_compiled
    for i in range(7):
        x, y = tw.randn(5, 3), tw.randint(2, (5,))
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        assert graph(x, y).item() == loss.item(), i
    for p, q in zip(model.parameters(), graph.model.parameters()):
        np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
        assert q.grad is None
    assert graph._compiled.trace_count == 2 and graph.is_compiled
    assert "made state" in graph.explain()
    assert graph.plan().arena_bytes >= 0


def test_inference_shares_the_model():
    model, *_ = make()
    graph = Predict(model)
    x = tw.randn(4, 3)
    np.testing.assert_array_equal(graph(x).detach().numpy(), model(x).softmax(-1).detach().numpy())
    with tw.no_grad():
        model[0].weight.zero_()
    np.testing.assert_array_equal(graph(x).detach().numpy(), model(x).softmax(-1).detach().numpy())
    assert not graph.training


def test_states():
    first, second = Predict(make(0)[0]), Predict(make(1)[0])
    second.load_state_dict(first.state_dict())
    x = tw.randn(2, 3)
    assert first(x).tolist() == second(x).tolist()
    with pytest.raises(KeyError, match="model"):
        second.load_state_dict({})


def test_errors():
    graph = Train(*make())
    with pytest.raises(TypeError, match="an optimizer is wanted"):
        graph.add_optimizer(3)
    graph(tw.randn(5, 3), tw.randint(2, (5,)))
    with pytest.raises(RuntimeError, match="called already"):
        graph.add_optimizer(make()[1])
    with pytest.raises(NotImplementedError, match="build"):
        nn.Graph()(1)


class Accumulate(nn.Graph):
    def __init__(self, model, optimizer, parts):
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer)
        self.config.set_gradient_accumulation_steps(parts)

    def build(self, x, y):
        out = self.model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        return loss, out, (out.argmax(1) == y).sum(), "kept"


def regular(seed=3):
    tw.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    return model, optim.Adam(model.parameters(), lr=0.05)


@pytest.mark.parametrize("parts", [2, 3])
def test_micro_batches_are_the_loop_that_a_user_would_write(parts):
    x, y = tw.randn(12, 3), tw.randint(0, 2, (12,))
    model, optimizer = regular()
    expected = []
    for _ in range(4):
        total, outs = 0, []
        for part_x, part_y in zip(x.chunk(parts), y.chunk(parts)):
            out = model(part_x)
            loss = F.cross_entropy(out, part_y)
            (loss / parts).backward()
            total = total + loss.detach()
            outs.append(out.detach())
        optimizer.step()
        optimizer.zero_grad()
        expected.append(((total / parts).item(), tw.cat(outs).numpy()))
    static_model, static_optimizer = regular()
    graph = Accumulate(static_model, static_optimizer, parts)
    for loss, out in expected:
        static_loss, static_out, hits, name = graph(x, y)
        assert static_loss.item() == loss and name == "kept"
        np.testing.assert_array_equal(static_out.numpy(force=True), out)
        assert hits.shape == (parts,)
    for a, b in zip(static_model.state_dict().values(), model.state_dict().values()):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_micro_batches_need_the_memory_of_a_part():
    def arena(parts):
        tw.manual_seed(0)
        model = nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(8)), nn.Linear(16, 2))
        graph = Accumulate(model, optim.SGD(model.parameters(), lr=0.1), parts)
        for _ in range(2):
            graph(tw.randn(1024, 16), tw.zeros(1024, dtype=tw.int64))
        return graph.plan().arena_bytes

    assert arena(4) < 0.4 * arena(1)


def test_what_micro_batches_refuse():
    model, optimizer = regular()
    graph = Accumulate(model, optimizer, 5)
    with pytest.raises(ValueError, match="a batch that 5 parts divide is wanted, got 12"):
        graph(tw.randn(12, 3), tw.zeros(12, dtype=tw.int64))
    with pytest.raises(ValueError, match="a tensor with a batch dim is wanted"):
        tw.micro_batches(lambda x: x, 2)(tw.tensor(1.0))
    with pytest.raises(ValueError, match="a positive number of parts is wanted, got 0"):
        tw.micro_batches(lambda x: x, 0)
    with pytest.raises(ValueError, match="a positive number is wanted"):
        Accumulate(model, optimizer, 0)


def test_a_graph_is_configured_before_its_first_call():
    model, optimizer = regular()
    graph = Accumulate(model, optimizer, 1)
    graph.config.set_memory_budget(10**6)
    for _ in range(2):
        graph(tw.randn(12, 3), tw.zeros(12, dtype=tw.int64))
    assert graph.plan().arena_bytes <= 10**6
    with pytest.raises(RuntimeError, match="called already"):
        graph.config.set_gradient_accumulation_steps(2)
    with pytest.raises(RuntimeError, match="called already"):
        graph.config.set_memory_budget(1)


def test_micro_batches_in_eager_mode_leave_other_gradients_alone():
    w = tw.tensor([1.0, 2.0], requires_grad=True)
    slopes = []

    def learn(x, scale):
        loss = (x * w * scale).sum() / x.shape[0]
        slopes.append(tw.autograd.grad(loss, w, retain_graph=True)[0].numpy())
        loss.backward()
        return {"loss": loss.detach(), "x": [x]}

    result = tw.micro_batches(learn, 2)(tw.ones(4, 2), 3.0)
    np.testing.assert_array_equal(w.grad.numpy(), [3, 3])
    np.testing.assert_array_equal(slopes, [[3, 3], [3, 3]])
    assert result["loss"].item() == 9 and result["x"][0].shape == (4, 2)
    (w * 2).sum().backward()  # the scale is gone
    np.testing.assert_array_equal(w.grad.numpy(), [5, 5])


def test_modules_are_checkpointed_in_graphs():
    def run(checkpointed):
        tw.manual_seed(0)
        model = nn.Sequential(
            *(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 16)) for _ in range(6))
        )
        for block in model:
            block.to(nn.graph.GraphModule).activation_checkpointing = checkpointed
        graph = Accumulate(model, optim.SGD(model.parameters(), lr=0.1), 1)
        graph.config.set_memory_budget(10**9)  # nothing else is computed twice
        x, y = tw.randn(256, 16), tw.randint(0, 16, (256,))
        losses = [graph(x, y)[0].item() for _ in range(3)]
        return losses, graph.plan()

    (expected, plan), (losses, lean) = run(False), run(True)
    assert losses == expected
    assert lean.arena_bytes < 0.5 * plan.arena_bytes
    assert sum(launch.op == "gelu" for launch in lean.launches) > sum(launch.op == "gelu" for launch in plan.launches)
    with pytest.raises(TypeError, match="True or False is wanted, got 1"):
        nn.Linear(1, 1).to(nn.graph.GraphModule).activation_checkpointing = 1
