"""Reports of users about pipelines, sharded optimizers and averages, on several processes and on devices of one."""

import subprocess
import sys

import pytest
from launching import program_environment

HEAD = """
import numpy as np
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F
S, B = tw.sbp.split, tw.sbp.broadcast
N = tw.placement.all("cpu").device_count
line = tw.placement.all("cpu")
stages = [tw.placement("cpu", [r]) for r in range(N)]
rng = np.random.default_rng(0)
draw = lambda *shape: tw.tensor(rng.standard_normal(shape).astype(np.float32))
host = lambda t: (t.detach().to_global(line, B) if t.is_global else t.detach()).numpy()
same = lambda a, b, tolerance=1e-6: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
"""

# A pipeline with fewer micro-batches than stages.
U052 = """
starts, batch = [draw(4, 4) for _ in stages], draw(12, 4)

def learn(weights, x, wheres):
    for w, where in zip(weights, wheres):
        x = ((x if where is None else x.to_global(where, B)) @ w).tanh()
    loss = x.square().mean()
    loss.backward()
    return loss.detach()

alone = [nn.Parameter(w.clone()) for w in starts]
wanted = learn(alone, batch, [None] * N).item()
for parts in (1, 2, 3):
    for compiled in (False, True):
        weights = [nn.Parameter(tw.tensor(w, placement=where, sbp=B)) for w, where in zip(starts, stages)]

        def step(x):
            for w in weights: w.grad = None
            return tw.micro_batches(lambda x: learn(weights, x, stages), parts)(x)

        loss = (tw.jit(step) if compiled else step)(tw.tensor(batch, placement=stages[0], sbp=B))
        same(host(loss), wanted)
        for w, one in zip(weights, alone): same(host(w.grad), host(one.grad))
"""

# An embedding and an output weight that are one tensor, on two stages.
U053 = """
table, inner, tokens, targets = draw(11, 4), draw(4, 4), [1, 5, 5, 0, 10, 3], [5, 1, 0, 3, 3, 7]

def curve(compiled, first, last):
    to = lambda t, where: t if where is None else t.to_global(where, B)
    put = lambda t, where: tw.tensor(t) if where is None else tw.tensor(t, placement=where, sbp=B)
    tied, middle = nn.Parameter(put(table, first)), nn.Parameter(put(inner, last))
    optimizer = tw.optim.SGD([tied, middle], lr=0.5)

    def step(tokens, targets):
        optimizer.zero_grad()
        hidden = (to(F.embedding(tokens, tied), last) @ middle).tanh()
        copy = to(tied, last)
        loss = F.cross_entropy(hidden @ copy.t(), targets)
        loss.backward()
        norm = nn.utils.clip_grad_norm_([tied, middle, tied], 0.1)
        optimizer.step()
        return loss.detach(), norm, to(tied.detach(), last)

    step, rows = tw.jit(step) if compiled else step, []
    for _ in range(3):
        loss, norm, copy = step(put(tokens, first), put(targets, last))
        assert (host(copy) == host(tied)).all()
        rows.append([host(loss), host(norm), *host(tied).ravel(), *host(middle).ravel()])
    return np.array(rows)

alone = curve(False, None, None)
for compiled in (False, True): same(curve(compiled, stages[0], stages[1]), alone)
"""

# Two groups of a sharded optimizer: weights and states put together again.
U055 = """
starts, slopes = {"a": draw(7), "b": draw(10)}, {"a": draw(7), "b": draw(10)}

def trained(how):
    put = (lambda t: t.clone()) if how is None else lambda t: tw.tensor(t, placement=line, sbp=how)
    params = {name: nn.Parameter(put(t)) for name, t in starts.items()}
    groups = [{"params": [("a", params["a"])], "lr": 0.1, "weight_decay": 0.01},
              {"params": [("b", params["b"])], "lr": 0.02, "weight_decay": 0.3}]
    optimizer = tw.optim.Adam(groups)
    for _ in range(2):
        optimizer.zero_grad()
        sum((params[name] * put(slopes[name])).square().sum() for name in params).backward()
        optimizer.step()
    return params, optimizer.state_dict()

alone, alone_state = trained(None)
for how in (S(0), S(0, unit=2), B):
    params, state = trained(how)
    assert list(params) == list(alone) and list(state["state"]) == list(alone_state["state"]) == [0, 1]
    assert [g["param_names"] for g in state["param_groups"]] == [["a"], ["b"]]
    for name in params: same(host(params[name]), host(alone[name]))
    for number, entry in alone_state["state"].items():
        assert state["state"][number]["step"] == entry["step"] == 2
        for key in ("exp_avg", "exp_avg_sq"): same(host(state["state"][number][key]), host(entry[key]))
"""

# Means over unequal counts of tokens: 2 in the first half of the batch, 6 in the second.
U056 = """
x, start = draw(12, 3), draw(5, 3)
labels = tw.tensor([1, -100, -100, 4, -100, -100, 0, 1, 2, 3, 4, 0])

def gradients(labels, how, parts, compiled):
    put = lambda t, how: t.clone() if how is None else tw.tensor(t, placement=line, sbp=how)
    w = nn.Parameter(put(start, None if how is None else B))

    def learn(x, labels, share):  # see micro_batches
        loss = F.cross_entropy(x @ w.t(), labels, reduction="sum") / share
        loss.backward()
        return loss.detach()

    def step(x, labels):
        w.grad = None
        count = (labels != -100).sum().clamp(min=1)
        return tw.micro_batches(learn, parts)(x, labels, count / parts)

    loss = (tw.jit(step) if compiled else step)(put(x, how), put(labels, how))
    return host(loss), host(w.grad)

w = nn.Parameter(start.clone())
wanted = F.cross_entropy(x @ w.t(), labels)
wanted.backward()
for how in (None, S(0), B):
    for parts in (1, 2, 3):
        for compiled in (False, True):
            loss, grad = gradients(labels, how, parts, compiled)
            same(loss, wanted.item())
            same(grad, host(w.grad))
            loss, grad = gradients(tw.full((12,), -100), how, parts, compiled)  # no token is kept
            assert loss == 0 and (grad == 0).all()
    if how is not None:  # a mean over split rows is that of all of them
        g = nn.Parameter(tw.tensor(start, placement=line, sbp=B))
        rows, kept = (tw.tensor(t, placement=line, sbp=how) for t in (x, labels))
        F.cross_entropy(rows @ g.t(), kept).backward()
        same(host(g.grad), host(w.grad))
"""

CASES = {"U052": (U052, 4), "U052 on two": (U052, 2), "U053": (U053, 2), "U055": (U055, 3), "U056": (U056, 2)}


@pytest.mark.parametrize("name", CASES)
def test_on_several_processes(ranks, name):
    code, count = CASES[name]
    outcome = ranks(count, HEAD + code + 'print("holds")\n')
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("holds") == count


@pytest.mark.parametrize("name", CASES)
def test_on_several_devices_of_one_process(name):
    code, count = CASES[name]
    program = f"import thalweg as tw\ntw.env.init(devices_per_process={count})\n{HEAD}{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=program_environment())
    assert done.returncode == 0, done.stderr
