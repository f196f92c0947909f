"""Devices of this process, and training steps on them, for the tests of global tensors on CUDA. Programs of several
processes import this too.
"""

from collections.abc import Callable

import numpy as np
import thalweg as tw
from example_modules import example
from thalweg import nn
from thalweg.nn import functional as F

S, B, P, MAX = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum, tw.sbp.partial_max


def cuda(ranks):
    return tw.placement("cuda", ranks)


def lies_on(tensor, ranks):
    parts = tensor.to_local()
    return [part.device for part in (parts if isinstance(parts, tuple) else [parts])] == [
        tw.device("cuda", rank) for rank in ranks
    ]


def learn(model: nn.Module, batch: tuple, loss_of: Callable, lr: float, compiled: bool = False, steps: int = 5):
    """The losses of some steps on one batch and the norms of their gradients, with another rate in each."""
    optimizer = tw.optim.AdamW(model.parameters(), lr=lr)

    def step(*batch):
        loss = loss_of(model, *batch)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach(), norm

    run = tw.jit(step) if compiled else step
    losses = []
    for _ in range(steps):
        losses.append([found.item() for found in run(*batch)])
        optimizer.param_groups[0]["lr"] *= 0.9
    assert not compiled or run.trace_count <= 3
    return losses


def columns_then_rows(name, tensor):
    return {"0.weight": S(0), "0.bias": S(0), "4.weight": S(1)}.get(name, B)


# Ranks, the layout of each parameter, that of the batch.
PLANS = {
    "data parallel on 2": ([0, 1], lambda name, tensor: B, S(0)),
    "data parallel on 3, uneven": ([2, 0, 3], lambda name, tensor: B, S(0, sizes=(5, 4, 3))),
    "tensor parallel on 2": ([0, 1], columns_then_rows, B),
    "tensor parallel on 4": ([0, 1, 2, 3], columns_then_rows, B),
    "parameters cut": ([2, 0, 1], lambda name, tensor: S(0), S(0)),
    "both": ([[0, 1], [2, 3]], lambda name, tensor: [B, columns_then_rows(name, tensor)], [S(0), B]),
}


def mlp_losses(plan: str | None, compiled: bool = False):
    """Of a small network, as a plan lays it out or on one device."""
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(12), nn.Linear(12, 4))
    batch = tw.randn(12, 6), tw.randn(12, 4)
    if plan is None:
        model, batch = model.cuda(), tuple(t.cuda() for t in batch)
    else:
        ranks, parameters, layout = PLANS[plan]
        where = cuda(ranks)
        axes = [B] * where.ndim
        model.to_global(where, axes).to_global(where, parameters)
        batch = tuple(t.to_global(where, axes).to_global(sbp=layout) for t in batch)
    losses = learn(model, batch, lambda model, x, y: F.mse_loss(model(x), y), 0.02, compiled)
    assert all(p.is_cuda and p.grad.is_cuda for p in model.parameters())
    return losses


MESHES = [("2", "dp"), ("2", "tp"), ("2x2", "dp,tp")]


def gpt_losses(device: str, shape: str | None = None, roles: str | None = None, compiled: bool = False):
    """Of the GPT of the examples, on a mesh of devices or on one."""
    tw.manual_seed(0)
    model = example("gpt").GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.0)
    tokens = tw.tensor(np.random.default_rng(0).integers(0, 11, (4, 9)))
    if shape is None:
        model, tokens = model.to(device), tokens.to(device)
        batch = tokens[:, :-1], tokens[:, 1:]
    else:
        mesh = example("parallel").Mesh(shape, roles, device=device)
        mesh.place(model)
        batch = mesh.batch(tokens[:, :-1]), mesh.batch(tokens[:, 1:])

    def loss_of(model, inputs, targets):
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    losses = learn(model, batch, loss_of, 3e-2, compiled, steps=4)
    assert {p.device.type for p in model.parameters()} == {device}
    return losses
