"""Reports of users about tensors on several ranks, as programs on several processes and on several devices of one."""

import subprocess
import sys

import pytest
from launching import program_environment

ROWS = """
import numpy as np
S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
RANKS = list(tw.env.addressable_ranks())
line = tw.placement.all("cpu")
N = line.device_count
same = lambda got, want: np.testing.assert_allclose(got.numpy() if hasattr(got, "numpy") else got, want, rtol=1e-6)
def parts(*blocks): return [tw.tensor(blocks[r]) for r in RANKS]

# U035: a split that does not divide evenly, and back.
whole = np.arange(50, dtype=np.float32).reshape(5, 10)
x = tw.tensor(whole, placement=line, sbp=B)
back = x.to_global(sbp=S(0)).to_global(sbp=B)
assert back.shape == (5, 10)
for local in back.to_local() if len(RANKS) > 1 else [back.to_local()]: same(local, whole)

# U044: a random tensor is one tensor, however it lies.
tw.manual_seed(3)
alone = tw.randn(2, 3).tolist()
for sbp in (B, S(0), S(1)):
    tw.manual_seed(3)
    drawn = tw.randn(2, 3, placement=line, sbp=sbp)
    same(drawn, alone)
    if sbp == B:
        for local in drawn.to_local() if len(RANKS) > 1 else [drawn.to_local()]: same(local, alone)

if N == 2:
    # U037: blocks that do not follow the split rule.
    blocks = parts([[1.0]], [[2.0], [3.0], [4.0]])
    whole = tw.local_to_global(blocks, line, S(0, sizes=(1, 3)))
    assert whole.shape == (4, 1)
    same(whole, [[1], [2], [3], [4]])
    try:
        whole = tw.local_to_global(blocks, line, S(0), check_meta=True)
    except (ValueError, tw.PlacementError) as error:
        assert "must have shape [2, 1], got [1, 1]" in str(error), error
    else:
        same(whole, [[1], [2], [3], [4]])

    # U038: a sum of a row-split and a column-split tensor, and of parts that are empty.
    for shape in ((16, 32), (1, 3)):
        a0, b0 = np.random.default_rng(0).standard_normal((2, *shape)).astype(np.float32)
        a, b = tw.tensor(a0, placement=line, sbp=S(0)), tw.tensor(b0, placement=line, sbp=S(1))
        a.requires_grad_(); b.requires_grad_()
        y = a + b
        assert y.sbp[0] in (S(0), S(1)), y.sbp
        same(y.detach(), a0 + b0)
        (y * y).sum().backward()
        same(a.grad, 2 * (a0 + b0)); same(b.grad, 2 * (a0 + b0))

    # U040, U041: a number beside a norm, and a sum of norms, over rows of several ranks.
    rows = tw.local_to_global(parts([[1.0, 1.0]], [[2.0, 2.0]]), line, S(0))
    same((rows.norm() + 1).numpy(), 10**0.5 + 1)
    columns = tw.local_to_global(parts([[3.0, 5.0]], [[4.0, 12.0]]), line, S(0))
    same(columns.norm(dim=0).sum().numpy(), 18)

    # U043: the gradient of stack on column-split inputs.
    a, b = (tw.ones(2, 2, placement=line, sbp=S(1)).requires_grad_() for _ in range(2))
    tw.stack([a, b], 0).backward(tw.arange(8.0, placement=line, sbp=B).view(2, 2, 2))
    same(a.grad, [[0, 1], [2, 3]]); same(b.grad, [[4, 5], [6, 7]])

    # U046: rows of a row-split tensor.
    cube = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    x = tw.tensor(cube, placement=line, sbp=S(0))
    for index in (1, -1, slice(0, 2)): same(x[index], cube[index])
print("all rows hold")
"""


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_on_several_processes(ranks, processes):
    outcome = ranks(processes, ROWS)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("all rows hold") == processes


@pytest.mark.parametrize("devices", [2, 4])
def test_on_several_devices_of_one_process(devices):
    program = f"import thalweg as tw\ntw.env.init(devices_per_process={devices})\n{ROWS}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=program_environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all rows hold\n"
