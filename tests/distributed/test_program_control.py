"""Control flow on global tensors, and their parts as local ones, in compiled functions of several processes."""

import subprocess

import pytest
from launching import launch_command, program_environment

USES = """
import os
import numpy as np
import thalweg as tw
tw.env.init(devices_per_process=int(os.environ.get("DEVICES", 1)))
S, B = tw.sbp.split, tw.sbp.broadcast

def values(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)

def branches(x, w):
    return tw.cond(x.sum() > 0, lambda: ((x @ w).softmax(0) ** 2).sum(), lambda: (x * 3).sum())

def recurrent(x, w):
    h, ys = tw.scan(lambda h, row: ((row + h @ w).tanh(), h.sum()), tw.zeros_like(x[0]), x)
    return (h * h).sum() + ys.sum()

def bounded(x, w):
    y, n = tw.while_loop(
        lambda h, n: (h.abs().max() < 10) & (n < 4), lambda h, n: ((h @ w).relu() + h, n + 1), (x, 0), max_iterations=6
    )
    return (y * y).sum() + n

def parts_of(x):
    parts = x.to_local()
    return parts if isinstance(parts, tuple) else (parts,)

def through_parts(x, w):
    squares = tw.local_to_global([part * part for part in parts_of(x)], x.placement, x.sbp)
    return (squares @ w).sum()

def in_parts(x, w):
    return sum((part.exp().sum() for part in parts_of(x)), start=tw.zeros(()))

def parts_in_regions(x, w):
    def body(h, n):
        laid = h.to_global(x.placement, x.sbp)
        return tw.local_to_global([part * 0.5 + part.sin() for part in parts_of(laid)], x.placement, x.sbp), n + 1

    def one(): return tw.while_loop(lambda h, n: n < 3, body, (x, 0), max_iterations=3)[0]
    def other(): return tw.local_to_global([part * 3 for part in parts_of(x)], x.placement, x.sbp)
    return (tw.cond(x.sum() > 0, one, other) @ w).sum()

def beside_boxings(x, w):  # a row is gathered, and what is carried is summed, while the product is computed
    whole = [B] * len(x.sbp)
    def body(h, row):
        gathered, total = row.to_global(x.placement, whole), h.sum().to_global(x.placement, whole)
        return ((h + 1) @ w).tanh() * 0.5 + gathered + total * 0.1, total
    h, totals = tw.scan(body, tw.zeros_like(x[0]), x)
    return (h * h).sum() + totals.sum()

def grads_of(f, sign, **lies):
    x, w = tw.tensor(values((5, 4)) * sign, **lies), tw.tensor(values((4, 4), 1), **lies)
    x.requires_grad_(), w.requires_grad_()
    f(x, w)
    return [t.grad.numpy() if t.grad is not None else np.zeros(t.shape) for t in (x, w)]

def learns(f):
    def step(x, w):
        loss = f(x, w)
        loss.backward()
        return loss.detach()
    return step

line = tw.placement.all("cpu")
square = tw.placement("cpu", line.ranks.reshape(2, -1))
for where, how in [(line, [S(0)]), (line, [S(1)]), (square, [S(0), S(1)])]:
    for sign in (1, -1):
        for f in (branches, recurrent, bounded):
            compiled = tw.jit(learns(f))
            for _ in range(2):
                found = grads_of(compiled, sign, placement=where, sbp=how)
            for one, wanted in zip(found, grads_of(learns(f), sign)):
                np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
        for f in (beside_boxings, through_parts, in_parts, parts_in_regions):
            found = grads_of(tw.jit(learns(f)), sign, placement=where, sbp=how)
            for one, wanted in zip(found, grads_of(learns(f), sign, placement=where, sbp=how)):
                np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
print("all alike")
"""


@pytest.mark.parametrize("devices", [1, 2])
def test_programs_do_what_eager_mode_does(tmp_path, devices):
    script = tmp_path / "program.py"
    script.write_text(USES, encoding="utf-8")
    environment = {**program_environment(), "DEVICES": str(devices)}
    done = subprocess.run(launch_command(script, 2), capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all alike") == 2, done.stdout


FAILING = """
import time
import numpy as np
where, S = tw.placement.all("cpu"), tw.sbp.split

@tw.jit
def f(x, table, rows):
    def body(h, n):  # what decides is summed over the processes; the rows are each one's own
        mine = tw.nn.functional.embedding(rows, table)
        return (h + mine).to_global(sbp=tw.sbp.broadcast).to_global(sbp=S(0)), n + 1
    return tw.while_loop(lambda h, n: h.sum() + n < 8, body, (x, 0))[0]

whole = dict(placement=where, sbp=S(0))
x = tw.zeros(4096, 256, **whole)
table = tw.zeros(3, 256, placement=where, sbp=tw.sbp.broadcast)
rows = [0, 1, 2, 0] * 1024
f(x, table, tw.tensor(rows, **whole))
rows[-1] = 7  # of the last process
begin = time.perf_counter()
try:
    f(x, table, tw.tensor(rows, **whole))
except Exception as error:
    print(type(error).__name__, time.perf_counter() - begin < 5, str(error).replace(chr(10), " ")[:400])
"""


def test_a_failure_in_a_loop_of_one_process_is_an_error_in_the_others(ranks):
    outcome = ranks(2, FAILING)
    assert outcome.code == 0, outcome.err
    assert "IndexError True embedding" in outcome.out, outcome.out
    assert "CommError True" in outcome.out, outcome.out


DIFFERENT = """
where, B, S = tw.placement.all("cpu"), tw.sbp.broadcast, tw.sbp.split
x = tw.ones(1 << 20, placement=where, sbp=S(0))

@tw.jit
def f(x):
    return tw.cond(x.sum() > 0, lambda: x + (x.exp().sum() if rank else 0), lambda: x)

try:
    f(x)
except Exception as error:
    print(type(error).__name__, "the processes do not make the same boxings" in str(error))
"""


def test_processes_agree_on_what_they_do_in_branches(ranks):
    outcome = ranks(2, DIFFERENT)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("CommError True") == 2, outcome.out


BY_PARTS = """
import numpy as np
where, B, S = tw.placement.all("cpu"), tw.sbp.broadcast, tw.sbp.split

def f(x):
    y = tw.cond(x.to_local().sum() > 0, lambda: x * 2 + x.sum(), lambda: x.exp())
    def far(y): return y.to_global(sbp=S(0)).to_local().abs().max() > 0.5
    return tw.while_loop(far, lambda y: y * 0.5 - y.mean(), (y,))[0]

compiled = tw.jit(f)
for sign in (1, -1):
    x = tw.tensor(np.tile(np.float32([[1.0, 2.0, 3.0]]) * sign, (4, 1)), placement=where, sbp=S(0))
    for _ in range(3):
        found = compiled(x)
    print("alike", np.allclose(found.numpy(), f(x).numpy(), rtol=1e-5))
x = tw.tensor(np.float32([[1.0], [-1.0]]), placement=where, sbp=S(0))
try:
    compiled(x.expand(2, 3).contiguous().to_global(sbp=S(0)))
except Exception as error:
    print(type(error).__name__, str(error).replace(chr(10), " ")[:300])
"""


def test_parts_decide_where_the_processes_agree(ranks):
    outcome = ranks(2, BY_PARTS)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("alike True") == 4, outcome.out
    assert outcome.out.count("RuntimeError cond: it decides by parts of global tensors") == 2, outcome.out
