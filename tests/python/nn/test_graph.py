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
