"""Compiled functions of global tensors in several processes."""

import subprocess

from launching import launch_command, program_environment

STEPS = """
from thalweg import nn
from thalweg.nn import functional as F
S, B = tw.sbp.split, tw.sbp.broadcast
where = tw.placement.all("cpu")

def losses(compile, how, data):
    tw.manual_seed(1)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 6))
    x, y = tw.randn(12, 5), tw.randn(12, 6)
    if how is not None:
        for name, param in list(model.named_parameters()):
            whole = param.detach().to_global(where, B)
            setattr(model[int(name[0])], name[2:], nn.Parameter(whole.to_global(sbp=how)))
    optimizer = tw.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        if how is not None:  # a whole that every process has
            x, y = (t.to_global(where, B).to_global(sbp=data) for t in (x, y))
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    step = compile(step)
    return [round(step(x, y).item(), 5) for _ in range(4)]

alone = losses(lambda f: f, None, None)
"""


def test_steps_learn_what_one_device_learns(ranks):
    outcome = ranks(2, STEPS + "print(*(losses(tw.jit, *p) == alone for p in [(B, S(0)), (S(0), B), (S(0), S(0))]))")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("True True True") == 2, outcome.out


SEVERAL = """
import thalweg as tw
tw.env.init(devices_per_process=2)
S, B = tw.sbp.split, tw.sbp.broadcast
where = tw.placement("cpu", [[0, 2], [1, 3]])

def weights(compile, **lies):
    tw.manual_seed(0)
    w, x = tw.randn(6, 4, **lies).requires_grad_(), tw.randn(8, 6, **lies)
    optimizer = tw.optim.Adam([w])

    def step(x):
        optimizer.zero_grad()
        (x @ w).tanh().square().sum().backward()
        optimizer.step()

    step = compile(step)
    for _ in range(4):
        step(x)
    return w.detach().numpy()

difference = weights(tw.jit, placement=where, sbp=[S(0), S(1)]) - weights(lambda f: f)
print("largest", abs(difference).max() < 1e-6)
"""


def test_processes_with_several_ranks_each(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SEVERAL, encoding="utf-8")
    done = subprocess.run(
        launch_command(script, 2), capture_output=True, text=True, timeout=120, env=program_environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("largest True") == 2, done.stdout


def test_results_are_differentiated_outside(ranks):
    code = """
    S, B = tw.sbp.split, tw.sbp.broadcast
    where = tw.placement.all("cpu")
    w = tw.ones(4, 3, placement=where, sbp=S(0)).requires_grad_()
    x = tw.arange(8.0, placement=where, sbp=B).view(2, 4)
    loss = tw.jit(lambda x: (x @ w).square().sum())(x)
    loss.backward()
    grad = w.grad.numpy()
    w.grad = None
    (x @ w).square().sum().backward()
    print(bool((grad == w.grad.numpy()).all()), w.grad.sbp)
    """
    outcome = ranks(2, code)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("True (sbp.split(0),)") == 2, outcome.out


CLIP = """
from thalweg import nn
S = tw.sbp.split
where = tw.placement.all("cpu")

def clipped(compile, p):
    local, split = nn.Parameter(tw.ones(3)), nn.Parameter(tw.ones(5, placement=where, sbp=S(0)))

    def step(x):
        local.grad = split.grad = None
        (split * split).sum().backward()
        (local * x).sum().backward()  # each process has a gradient of its own
        return nn.utils.clip_grad_norm_([local, split], 1.0, norm_type=p)

    step = compile(step)
    for _ in range(2):
        norm = step(tw.full((3,), float(rank + 1)))
    return [round(v, 5) for v in (norm.item(), *local.grad.tolist(), *split.grad.numpy().tolist())]

for p in (2.0, 1.0, float("inf")):
    print(p, clipped(tw.jit, p) == clipped(lambda f: f, p), clipped(tw.jit, p)[0])
"""


def test_a_norm_of_local_and_global_gradients_is_that_of_eager_mode(ranks):
    outcome = ranks(2, CLIP)
    assert outcome.code == 0, outcome.err
    for p, norm in ((2.0, (4 * 5 + 3 * 4) ** 0.5), (1.0, 10 + 6), (float("inf"), 2)):
        assert outcome.out.count(f"{p} True {round(norm, 5)}") == 2, outcome.out


BESIDE = """
import numpy as np
where, B, S, P = tw.placement.all("cpu"), tw.sbp.broadcast, tw.sbp.split, tw.sbp.partial_sum
x = tw.ones(64, 32, placement=where, sbp=S(0))
w = tw.ones(32, 32, placement=where, sbp=B) * 0.1

@tw.jit(asynchronous=True)
def step(x, total):
    y = x
    for _ in range(4):
        y = (y @ w).tanh()
        total = (total + y.sum()).to_global(sbp=B)
    return total * 0.5

@tw.jit
def now(x):
    return x.sum()

def other(i):
    return tw.local_to_global([tw.tensor([float(i)])], where, P)

step(x, tw.zeros((), placement=where, sbp=B)), now(x)
total, expected = tw.zeros((), placement=where, sbp=B), 0.0
alike = True
for i in range(300):
    total = step(x, total)
    # The processes come here at other times each, while steps are under way.
    if (i + rank) % 3 == 0: time.sleep(0.0005)
    alike &= other(i).to_global(sbp=B).item() == i * size
    alike &= (x * i).sum().item() == 2048 * i
    if i % 50 == 49: alike &= now(x).item() == 2048
print("alike", alike, float(total) > 0)
"""


def test_asynchronous_steps_and_eager_boxings_run_beside_each_other(ranks):
    outcome = ranks(2, BESIDE)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("alike True True") == 2, outcome.out


CROWDED = """
import os
from pathlib import Path
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
where, B, S = tw.placement.all("cpu"), tw.sbp.broadcast, tw.sbp.split
x, w = tw.ones(64, 32, placement=where, sbp=S(0)), tw.ones(64, 64, placement=where, sbp=B)

@tw.jit
def step(x, w):
    beside = (w @ w).exp().mean()
    return x.sum().to_global(sbp=B) + beside

for _ in range(3):
    step(x, w)
names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
print("waits in", [name for name in names if name == "tw-worker"])
"""


def test_processes_that_share_cores_have_no_threads_that_only_look(ranks):
    outcome = ranks(3, CROWDED)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("waits in []") == 3, outcome.out
