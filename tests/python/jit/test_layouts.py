"""Channels-last networks as static programs: nothing is copied into another order, and results lie as in eager mode."""

import collections

import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.nn import functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1, bias=False), nn.Conv2d(8, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.second(F.relu(self.norm(self.first(x)))) + x)


def images():
    tw.manual_seed(1)
    return tw.randn(2, 4, 6, 6).to(memory_format=tw.channels_last)


def train(compiled, optimizer, **options):
    tw.manual_seed(0)
    model = nn.Sequential(Block(), Block()).to(memory_format=tw.channels_last)
    optimizer = getattr(optim, optimizer)(model.parameters(), **options)

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = tw.jit(step) if compiled else step
    losses = [run(images()).item() for _ in range(5)]
    grads = [(p.grad.stride(), p.grad.tolist()) for p in model.parameters()]
    return losses, grads, [(p.stride(), p.tolist()) for p in model.parameters()], run


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_training_copies_no_weights(optimizer):
    options = {"lr": 0.1, "momentum": 0.9} if optimizer == "SGD" else {"lr": 0.01}
    expected = train(False, optimizer, **options)
    result = train(True, optimizer, **options)
    assert result[:3] == expected[:3]
    assert any(stride[1] == 1 for stride, _ in result[1])
    plan = result[3].plan()
    copied = collections.Counter(launch.op for launch in plan.launches if launch.output_bytes > 8 * 4)
    assert not {"clone", "window_write", "row_major"} & set(copied)


def test_results_and_gradients_lie_as_in_eager_mode():
    tw.manual_seed(0)
    model = Block().to(memory_format=tw.channels_last)

    def run(f):
        x = images().requires_grad_()
        y = f(x)
        (y * tw.linspace(0, 1, y.numel()).view(y.shape)).sum().backward()
        return y.stride(), y.tolist(), x.grad.stride(), x.grad.tolist()

    expected, result = run(model), run(tw.jit(model.forward))
    assert expected[0][1] == 1 and result[:2] == expected[:2] and result[3] == expected[3]


def test_a_saved_network_gives_row_major_results(tmp_path):
    tw.manual_seed(0)
    model = nn.Conv2d(4, 5, 3).to(memory_format=tw.channels_last)
    tw.save_graph(tmp_path / "model.tw", model, tw.randn(2, 4, 6, 6))
    x = images()
    y = tw.load_graph(tmp_path / "model.tw")(x)
    assert y.is_contiguous() and y.tolist() == model(x).tolist()


def test_a_transposed_variable_is_written_where_it_lies():
    def run(compiled):
        weight = tw.arange(6.0).view(2, 3).t()
        square = tw.arange(9.0).view(3, 3).clone()

        def step(x):
            weight.mul_(x)
            square.copy_(square.t() * x)
            return weight.sum()

        step = tw.jit(step) if compiled else step
        sums = [step(tw.tensor(float(i + 2))).item() for i in range(3)]
        return sums, weight.tolist(), weight.stride(), square.tolist()

    assert run(True) == run(False)
