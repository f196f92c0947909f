"""Control flow on tensors of several placements, in compiled functions of several processes."""

import subprocess

import pytest
from launching import launch_command, program_environment

USES = """
import os
import numpy as np
import thalweg as tw
from thalweg import nn
tw.env.init(devices_per_process=int(os.environ["DEVICES"]))
S, B = tw.sbp.split, tw.sbp.broadcast
ranks = tw.placement.all("cpu").ranks
size = len(ranks)

def values(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)

def to(x, like):  # of local tensors there is one place
    return x.to_global(like.placement, B) if like.is_global else x

def zeros(shape, like):
    return tw.zeros(shape, placement=like.placement, sbp=B) if like.is_global else tw.zeros(shape)

def branches(x, w):
    y, z = tw.cond(
        x.sum() > 0,
        lambda: (x.exp() * 2, to(x, w) @ w * 2),
        lambda: (x - to((to(x, w) @ w).mean(), x), to(x, w) @ w),
    )
    return (to(y.square().sum(), w) + z.square().sum()) * 0.1

def decided_elsewhere(x, w):
    return tw.cond(x.sum() > 0, lambda: w * 2, lambda: w.exp()).square().sum()

def scanned(x, w):
    def body(carry, row):
        h, g = carry
        h = (row + h * 0.5).tanh()
        g = g * 0.5 + to(h, w) @ w
        return (h, g), (h.sum(), g.exp())

    (h, g), (sums, rows) = tw.scan(body, (zeros(4, x), zeros(4, w)), x)
    return (g * g).sum() + rows.sum() * 0.1 + to(h.sum() + sums.sum(), w)

def bounded(x, w):
    def body(h, g, n):
        h = (h @ to(w, x)).tanh() + h
        return h, g + to(h.mean(), w), n + 1

    h, g, n = tw.while_loop(lambda h, g, n: (h.abs().max() < 10) & (n < 4), body, (x, w * 0.5, 0), max_iterations=6)
    return (g * g).sum() + to((h * h).sum() + n, w)

def converted(x, w):
    h, g = x, w.sum(0)
    with tw.jit.max_iterations(9):
        while h.abs().max() > 0.2:
            h = h * 0.5
            if g.sum() > 0:
                g = g - to(h.sum(0), w).abs()
                continue
            g = g + 2
    return (h * 2).sum() if to(g.sum(), x) > 0 else h.sum() + to(g, x).square().sum()

def learns(f):
    def step(x, w):
        loss = f(x, w)
        loss.backward()
        return loss.detach()
    return step

def read(x):
    if x is None: return None
    return (x.to_global(tw.placement.all("cpu"), B) if x.is_global else x).numpy()

def run(f, sign, places=None):
    lies = [dict(placement=place, sbp=S(dim)) for dim, place in enumerate(places)] if places else [{}, {}]
    x = tw.tensor(values((6, 4)) * sign, **lies[0]).requires_grad_()
    w = tw.tensor(values((4, 4), 1) + 0.1 * sign, **lies[1]).requires_grad_()
    loss = f(x, w)
    return [read(t) for t in (loss, x.grad, w.grad)]

def draws(x, w):
    return tw.cond(x.sum() > 0, lambda: nn.functional.dropout(x, 0.5), lambda: x), nn.functional.dropout(w, 0.3)

def check(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        if other is None:
            assert one is None or not one.any()
        else:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)

half = size // 2
for stages in [(ranks[:half], ranks[half:]), (ranks[-1:], ranks[:-1]), (ranks[:half], ranks)]:
    places = [tw.placement("cpu", one) for one in stages]
    for f in (branches, decided_elsewhere, scanned, bounded, converted):
        compiled = tw.jit(learns(f))
        for sign in (1, -1, 1):
            check(run(compiled, sign, places), run(learns(f), sign))
    x, w = (tw.tensor(values((6, 4)), placement=place, sbp=B).abs() for place in places)
    tw.manual_seed(3)
    found = [read(t) for t in tw.jit(draws)(x, w)]
    tw.manual_seed(3)
    check(found, [t.numpy() for t in draws(*(tw.tensor(values((6, 4))).abs() for _ in range(2)))])
print("all alike")
"""


@pytest.mark.parametrize("processes, devices", [(2, 1), (2, 2), (3, 1)])
def test_programs_do_what_one_device_does(tmp_path, processes, devices):
    script = tmp_path / "program.py"
    script.write_text(USES, encoding="utf-8")
    done = subprocess.run(
        launch_command(script, processes),
        capture_output=True,
        text=True,
        timeout=180,
        env={**program_environment(), "DEVICES": str(devices)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all alike") == processes, done.stdout
