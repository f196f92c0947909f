"""Global tensors over several processes: parts, boxing, gradients, training, and what is refused."""

import subprocess

import pytest
from launching import launch_command, program_environment

CONVERSION = """
import itertools
import numpy as np
S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
line = tw.placement.all("cpu")
assert line.device_count == size
x = tw.arange(7 * 5, dtype=tw.float32).reshape(7, 5)
layouts = [S(0), S(1), S(0, unit=3), B, P]
for start, end in itertools.product(layouts, repeat=2):
    g = tw.tensor(x, placement=line, sbp=start).to_global(sbp=end)
    assert g.sbp == (end,) and np.array_equal(g.numpy(), x.numpy()), (start, end)

# Each rank gives its part; parts of unequal sizes are found out, or stated.
g = tw.full((2, 3), float(rank)).to_global(line, S(0))
assert g.shape == (2 * size, 3) and g.to_local().tolist() == [[rank] * 3] * 2
assert g.sum().item() == 6 * sum(range(size))
assert tw.full((2,), 1.0).to_global(line, P).tolist() == [size] * 2
sizes = [2 * r + 1 for r in range(size)]
part = tw.full((sizes[rank], 3), float(rank))
g = part.to_global(line, S(0, sizes=sizes))
assert g.shape == (sum(sizes), 3)
for give in (lambda: part.to_global(line, S(0)),
             lambda: tw.zeros(2, dtype=[tw.int64, tw.float32][rank > 0]).to_global(line, B),
             lambda: tw.full((2,), float(rank)).to_global(line, B, check_meta="values")):
    try:
        give()
    except tw.PlacementError:
        continue
    sys.exit("a PlacementError is wanted")

# Printing asks nobody, so one rank may do it alone.
if rank == 0:
    assert "rank 0: [[0., 0., 0.]" in repr(tw.full((2, 3), 0.0).to_global(line, S(0), check_meta=False))

# Gradients of local tensors that became parts.
leaf = tw.full((2,), float(rank + 1), requires_grad=True)
g = leaf.to_global(line, S(0))
(g * g).sum().backward()
assert leaf.grad.tolist() == [2.0 * (rank + 1)] * 2
leaf = tw.ones(3, placement=line, sbp=B, requires_grad=True)
(leaf.to_local() * (rank + 1)).sum().backward()
assert leaf.grad.tolist() == [sum(range(1, size + 1))] * 3
tw.manual_seed(3)
alone = tw.rand(5, 4)
tw.manual_seed(3)
assert tw.rand(5, 4, placement=line, sbp=S(0)).tolist() == alone.tolist()
"""

TRAINING = """
import numpy as np
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F
tw.env.init(devices_per_process=DEVICES)
S, B = tw.sbp.split, tw.sbp.broadcast
world = tw.env.get_world_size()

def losses(where=None, plan=None, data=None):
    tw.manual_seed(0)
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Embedding(11, 12), nn.LayerNorm(12), nn.Linear(12, 24), nn.GELU(), nn.Dropout(0.2),
                          nn.Linear(24, 11))
    if where is not None:
        for name, param in list(model.named_parameters()):
            param.data = tw.tensor(param.detach(), placement=where, sbp=plan(name))
    optimizer = tw.optim.AdamW(model.parameters(), lr=0.01)
    result = []
    for _ in range(10):
        tokens, targets = (tw.tensor(rng.integers(0, 11, (8, 5))) for _ in range(2))
        if where is not None:
            tokens, targets = (tw.tensor(t, placement=where, sbp=data) for t in (tokens, targets))
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        result.append((loss.item(), norm.item()))
    return np.array(result)

expected = losses()
columns = {"2.weight": S(0), "2.bias": S(0), "5.weight": S(1)}
line = tw.placement.all("cpu")
found = [losses(line, lambda name: B, S(0)), losses(line, lambda name: columns.get(name, B), B)]
if world == 4:
    mesh = tw.placement("cpu", [[0, 1], [2, 3]])
    found.append(losses(mesh, lambda name: [B, columns.get(name, B)], [S(0), B]))
for one in found:
    np.testing.assert_allclose(one, expected, rtol=1e-3, atol=1e-4)
"""


@pytest.mark.parametrize("processes", [2, 3])
def test_conversion(ranks, processes):
    done = ranks(processes, CONVERSION)
    assert done.code == 0, done.err


@pytest.mark.parametrize("processes, devices", [(2, 1), (2, 2), (4, 1)])
def test_training(tmp_path, processes, devices):
    script = tmp_path / "program.py"
    script.write_text(TRAINING.replace("DEVICES", str(devices)), encoding="utf-8")
    command = launch_command(script, processes)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=program_environment())
    assert done.returncode == 0, done.stderr


SEVERAL_EACH = """
import itertools
import thalweg as tw

tw.env.init(devices_per_process=2)
S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
mesh = tw.placement("cpu", [[0, 1], [2, 3]])
wanted = tw.arange(28.0).view(7, 4)
whole = tw.arange(28.0, placement=mesh, sbp=[B, B]).view(7, 4)
pairs = list(itertools.product([S(0), S(1), B, P], repeat=2))
for before, after in itertools.product(pairs, pairs):
    back = whole.to_global(sbp=before).to_global(sbp=after).to_global(sbp=[B, B])
    assert all(part.tolist() == wanted.tolist() for part in back.to_local()), (before, after)
w = tw.ones(4, 4, placement=mesh, sbp=[B, S(1)]).requires_grad_()
(whole.to_global(sbp=[S(0), B]) @ w).square().sum().backward()
alone = tw.ones(4, 4).requires_grad_()
(wanted @ alone).square().sum().backward()
assert w.grad.numpy().tolist() == alone.grad.numpy().tolist()
print("ranks", list(tw.env.addressable_ranks()))
"""


def test_processes_may_own_several_ranks_each(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SEVERAL_EACH)
    done = subprocess.run(
        launch_command(script, 2), capture_output=True, text=True, timeout=120, env=program_environment()
    )
    assert done.returncode == 0, done.stderr
    assert "ranks [0, 1]" in done.stdout and "ranks [2, 3]" in done.stdout


ELSEWHERE = """
x = tw.full((), 7.0, placement=tw.placement("cpu", [0]), sbp=tw.sbp.broadcast)
for read in (x.item, x.numpy, x.tolist):
    try: print("value", float(read()))
    except tw.PlacementError as error: print(error)
print("brought", x.to_global(tw.placement.all("cpu"), tw.sbp.broadcast).item())
"""


def test_who_does_not_know_a_value_is_told_who_does(ranks):
    outcome = ranks(2, ELSEWHERE)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("[rank 0] value 7.0") == 3 and outcome.out.count("brought 7.0") == 2
    words = "[rank 1] reading the value of a tensor on cpu[0]: only processes with one of these ranks know it"
    assert outcome.out.count(words) == 3, outcome.out
