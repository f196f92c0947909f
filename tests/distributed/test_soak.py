"""Long runs: many calls in flight on two communicators, and ranks killed at random moments.

Short by default; with THALWEG_NIGHTLY set as long as `make nightly` wants them.
"""

import os
import random
import signal
import subprocess
import textwrap
import time

import machines
import pytest
import thalweg as tw
from launching import HEAD, launch_command, program_environment
from thalweg.distributed import checkpoint

NIGHTLY = bool(os.environ.get("THALWEG_NIGHTLY"))
STEPS = 100_000 if NIGHTLY else 1_500
KILLS = 50 if NIGHTLY else 3

# At most 8 calls are in flight; the ranks post to the groups in one order each, wait in orders of their own.
INTERLEAVED = f"""
import collections, random
choose, shared = random.Random(rank), random.Random(5)
groups = [dist.new_group(), dist.new_group(list(reversed(range(size))))]
sizes = [1, 700, 5_000, 40_000]
flying, slots = collections.deque(), [[tw.zeros(n) for n in sizes] for _ in range(8)]
free = list(range(8))

def land(index):
    slot, n, want, work = flying[index]
    del flying[index]
    work.wait()
    got = slots[slot][n]
    assert got[0].item() == got[-1].item() == want, (got, want)
    free.append(slot)

for step in range({STEPS}):
    calls = [(g, shared.randrange(4 if step % 50 == 0 else 2), shared.random() < 0.5) for g in (0, 1)]
    while len(free) < 2: land(choose.randrange(len(flying)))  # of steps before, which all ranks have posted or will
    for g, n, summed in calls if choose.random() < 0.5 else reversed(calls):
        slot = free.pop()
        x = slots[slot][n].fill_(step % 100 + rank)
        want = sum(step % 100 + r for r in range(size)) if summed else step % 100 + size - 1
        op = dist.ReduceOp.SUM if summed else dist.ReduceOp.MAX
        flying.append((slot, n, want, dist.all_reduce(x, op, group=groups[g], async_op=True)))
while flying: land(choose.randrange(len(flying)))
print("done")
"""


def test_two_communicators_interleaved_do_not_deadlock(ranks):
    outcome = ranks(2, INTERLEAVED, timeout=3600 if NIGHTLY else 120)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("done") == 2


def test_nor_do_they_between_machines(transport, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(HEAD + INTERLEAVED, encoding="utf-8")
    outcomes = machines.finish(machines.start(machines.OneAddress(), script, [2, 1]), 3600 if NIGHTLY else 120)
    assert [outcome.code for outcome in outcomes] == [0, 0], outcomes
    assert sum(outcome.out.count("done") for outcome in outcomes) == 3


TRAINING = """
from thalweg.distributed import checkpoint
folder = sys.argv[1]
tw.manual_seed(0)
net = tw.nn.Linear(200, 200)
model = tw.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.05)
optimizer = tw.optim.AdamW(net.parameters())
pids = [None] * size
dist.all_gather_object(pids, os.getpid())
step = 0
try:
    while True:
        model(tw.randn(8, 200)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step % 3 == 0: checkpoint.save({"model": net, "optimizer": optimizer, "step": step}, folder)
        if step == 3 and rank == 0: print("begun", *pids, flush=True)
        last = time.monotonic()
except tw.CommError as error:
    print(f"raised {time.monotonic() - last:.1f} s later: {error}")
    raise
"""


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_rank_killed_at_a_random_moment_ends_the_job_and_leaves_a_checkpoint(tmp_path, seed):
    draw = random.Random(seed)
    script, folder = tmp_path / "program.py", tmp_path / "saved"
    script.write_text(HEAD + textwrap.dedent(TRAINING), encoding="utf-8")
    launcher = subprocess.Popen(
        launch_command(script, 3, str(folder)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=program_environment(),
    )  # fmt: skip
    pids = [int(pid) for pid in launcher.stdout.readline().split()[3:]]
    time.sleep(draw.random() * 0.5)
    victim = draw.randrange(3)
    os.kill(pids[victim], signal.SIGKILL)
    out, err = launcher.communicate(timeout=60)
    assert launcher.returncode == 128 + signal.SIGKILL, err
    assert f"rank {victim} failed first, with signal SIGKILL" in err
    seconds = [float(line.split("raised ")[1].split(" s ")[0]) for line in out.splitlines() if "raised" in line]
    assert len(seconds) == 2 and max(seconds) < 10, out
    assert not any(map(alive, pids))
    net = tw.nn.Linear(200, 200)
    state = {"model": net, "optimizer": tw.optim.AdamW(net.parameters()), "step": 0}
    checkpoint.load(state, str(folder))
    assert state["step"] >= 3 and state["step"] % 3 == 0
