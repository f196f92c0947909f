"""GradScaler over several ranks: an overflow in what one of them holds skips the step of all."""

import subprocess
import sys

import pytest
from launching import program_environment

STEPS = """
import math
import numpy as np
import thalweg as tw
from thalweg import nn
S, B = tw.sbp.split, tw.sbp.broadcast
line = tw.placement.all("cpu")

def trained(compiled, bad, how):
    weight = nn.Parameter(tw.ones(4, 3, placement=line, sbp=how))
    bias = nn.Parameter(tw.ones(3, placement=line, sbp=B))
    optimizer = tw.optim.SGD([weight, bias], 0.5)
    scaler = tw.amp.GradScaler(init_scale=16.0)

    def step(x):
        optimizer.zero_grad()
        scaler.scale((weight * x).sum() + bias.sum()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_([weight, bias], 100.0)
        scaler.step(optimizer)
        scaler.update()

    step, rows = tw.jit(step) if compiled else step, []
    for _ in range(3):
        slopes = np.ones((4, 3), np.float32)
        slopes[bad] = math.inf
        step(tw.tensor(slopes, placement=line, sbp=how))
        slopes[bad] = 1.0
        step(tw.tensor(slopes, placement=line, sbp=how))
        rows.append((scaler.get_scale(), weight.detach().numpy()[0, 0], bias.detach().numpy()[0]))
    return rows

wanted = [(8.0, 0.5, 0.5), (4.0, 0.0, 0.0), (2.0, -0.5, -0.5)]
for bad in ((0, 0), (3, 2)):  # in the part of the first rank, and of the last
    for how in (S(0), S(1), B):
        for compiled in (False, True):
            rows = trained(compiled, bad, how)
            assert rows == wanted, (bad, how, compiled, rows)
print("alike")
"""


@pytest.mark.parametrize("processes", [2, 3])
def test_on_several_processes(ranks, processes):
    outcome = ranks(processes, STEPS)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("alike") == processes


def test_on_two_devices_of_one_process():
    program = f"import thalweg as tw\ntw.env.init(devices_per_process=2)\n{STEPS}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=program_environment())
    assert done.returncode == 0, done.stderr


LOCAL = """
import thalweg as tw
from thalweg import nn
where = tw.placement.all("cpu")
local, split = nn.Parameter(tw.ones(2)), nn.Parameter(tw.ones(size, placement=where, sbp=tw.sbp.split(0)))
optimizer = tw.optim.SGD([split, local], 0.5)
scaler = tw.amp.GradScaler(init_scale=4.0)
for bad in (True, False):
    optimizer.zero_grad()
    scaler.scale(split.sum() + 0).backward()
    local.grad = tw.full((2,), float("inf") if bad and rank == size - 1 else 4.0)
    scaler.step(optimizer)
    scaler.update()
print("scale", scaler.get_scale(), local.tolist(), split.detach().numpy().tolist() == [0.5] * size)
"""


def test_a_local_gradient_beside_global_ones_counts_on_all(ranks):
    outcome = ranks(2, LOCAL)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("scale 2.0 [0.0, 0.0] True") == 2, outcome.out
