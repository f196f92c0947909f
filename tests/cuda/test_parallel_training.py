"""Data and tensor parallel training over several CUDA devices of this process learns what one device learns."""

import numpy as np
import pytest
import thalweg as tw
from example_modules import example
from thalweg import nn
from thalweg.nn import functional as F

S, B = tw.sbp.split, tw.sbp.broadcast


@pytest.fixture(autouse=True)
def four_devices():
    tw.env.init(devices_per_process=4)
    yield
    tw.env.init()


def mlp_losses(where, parameters, batch):
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.LayerNorm(12), nn.Linear(12, 3))
    x, y = tw.randn(12, 6), tw.randn(12, 3)
    if where is None:
        model, x, y = model.cuda(), x.cuda(), y.cuda()
    else:
        model.to_global(where, parameters)
        x, y = x.to_global(where, batch), y.to_global(where, batch)
    optimizer = tw.optim.AdamW(model.parameters(), lr=0.02)
    losses = []
    for _ in range(5):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        losses.append((loss.item(), nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()))
        optimizer.step()
    assert all(p.is_cuda and p.grad.is_cuda for p in model.parameters())
    return losses


def columns_then_rows(name, tensor):
    return {"0.weight": S(0), "0.bias": S(0), "3.weight": S(1)}.get(name, B)


PLANS = {
    "data parallel on 2": ([0, 1], lambda name, tensor: B, S(0)),
    "data parallel on 3, uneven": ([2, 0, 3], lambda name, tensor: B, S(0, sizes=(5, 4, 3))),
    "tensor parallel on 2": ([0, 1], columns_then_rows, B),
    "tensor parallel on 4": ([0, 1, 2, 3], columns_then_rows, B),
    "parameters cut": ([0, 1, 2], lambda name, tensor: S(0), S(0)),
    "both": ([[0, 1], [2, 3]], lambda name, tensor: [B, columns_then_rows(name, tensor)], [S(0), B]),
}


@pytest.mark.parametrize("name", PLANS)
def test_mlp(name):
    ranks, parameters, batch = PLANS[name]
    losses = mlp_losses(tw.placement("cuda", ranks), parameters, batch)
    np.testing.assert_allclose(losses, mlp_losses(None, None, None), rtol=2e-5)
    assert losses[4][0] < losses[0][0]


def gpt_losses(shape, roles):
    gpt, parallel = example("gpt"), example("parallel")
    tw.manual_seed(0)
    model = gpt.GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.0)
    tokens = tw.tensor(np.random.default_rng(0).integers(0, 11, (4, 9)))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    if shape is None:
        model, inputs, targets = model.cuda(), inputs.cuda(), targets.cuda()
    else:
        mesh = parallel.Mesh(shape, roles, device="cuda")
        mesh.place(model)
        inputs, targets = mesh.batch(inputs), mesh.batch(targets)
    optimizer = tw.optim.AdamW(model.parameters(), lr=3e-2)
    losses = []
    for _ in range(4):
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("shape, roles", [("2", "dp"), ("2", "tp"), ("2x2", "dp,tp")])
def test_gpt(shape, roles):
    np.testing.assert_allclose(gpt_losses(shape, roles), gpt_losses(None, None), rtol=1e-4)
