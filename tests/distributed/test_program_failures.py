"""Compiled functions of several processes after a step has failed: the next one works, or says who has ended."""

import re
import signal

import pytest

STEP = """
from thalweg import nn
S, B = tw.sbp.split, tw.sbp.broadcast
where = tw.placement.all("cpu")
tw.manual_seed(0)
table = nn.Embedding(10, 4).to_global(where, B)
head = nn.Linear(4, 1).to_global(where, B)
optimizer = tw.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)

def looked_up(ids):  # each rank its own rows, and no others
    rows = nn.functional.embedding(ids.to_local(), table.weight.to_local())
    return tw.local_to_global(rows, where, S(0), check_meta=False)

def train(ids):
    optimizer.zero_grad()
    loss = head(looked_up(ids)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.detach()

def ids(bad=-1):
    '''Two rows for each rank; those of rank `bad` are out of range.'''
    rows = [r % 10 for r in range(2 * size)]
    if bad >= 0: rows[2 * bad + 1] = 77
    return tw.tensor(rows, placement=where, sbp=S(0))

def attempt(step, *args):
    start = time.monotonic()
    try: return f"{step(*args).item():.6f}"
    except Exception as error:
        return f"{time.monotonic() - start < 5} {type(error).__name__}: {str(error).splitlines()[0]}"
"""


def lines_of(outcome, rank: int) -> list[str]:
    return [line.split("] ", 1)[1] for line in outcome.out.splitlines() if line.startswith(f"[rank {rank}]")]


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("how", ["", "asynchronous=True"])
def test_after_a_failure_on_any_rank_the_next_call_works(ranks, processes, how):
    outcome = ranks(
        processes,
        STEP
        + f"""
step = tw.jit(train, {how})
for call in range(9):
    print(attempt(step, ids(call // 2 % size if call % 2 else -1)))
print("eager", (ids() * 1).to_global(sbp=B).sum().item())
""",
    )
    assert outcome.code == 0, outcome.err
    good = [lines_of(outcome, rank)[:9:2] for rank in range(processes)]
    assert all(one == good[0] for one in good)
    losses = [float(loss) for loss in good[0]]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    for rank in range(processes):
        lines = lines_of(outcome, rank)
        assert lines[9] == f"eager {sum(r % 10 for r in range(2 * processes))}"
        for call in range(1, 9, 2):
            failing = call // 2 % processes
            kind = "IndexError: " if rank == failing else f"CommError: rank {failing}: "
            assert lines[call].startswith(f"True {kind}embedding"), lines[call]
            assert re.search(r"program\.py:\d+", lines[call]), lines[call]


def test_failed_steps_leave_no_trace(ranks):
    outcome = ranks(
        2,
        STEP
        + """
step = tw.jit(train)
for call in range(6):
    print(attempt(step, ids(rank if call in FAILS else -1)))
""".replace("FAILS", "(2, 4)"),
    )
    clean = ranks(2, STEP + "step = tw.jit(train)\nfor call in range(4): print(attempt(step, ids()))")
    assert outcome.code == 0 and clean.code == 0, outcome.err + clean.err
    for rank in (0, 1):
        assert [line for line in lines_of(outcome, rank) if "Error" not in line] == lines_of(clean, rank)


def test_a_callback_that_raises_on_one_rank_is_no_matter_of_the_others(ranks):
    outcome = ranks(
        2,
        STEP
        + """
def refuse(calls=[0]):
    calls[0] += 1
    if rank == 1 and calls[0] == 2: raise KeyError("what the callback has to say")

@tw.jit
def step(ids):
    loss = train(ids)
    tw.jit.callback(refuse)
    return loss

for call in range(4): print(attempt(step, ids()))
""",
    )
    assert outcome.code == 0, outcome.err
    first, second = lines_of(outcome, 0), lines_of(outcome, 1)
    assert second[1] == "True KeyError: 'what the callback has to say'"
    assert first[0] == second[0] and first[2:] == second[2:]


def test_a_stuck_rank_is_named_and_hears_of_it_when_it_comes(ranks):
    outcome = ranks(
        3,
        "dist.destroy_process_group()\ndist.init_process_group(timeout=2)\n"
        + STEP
        + """
step = tw.jit(train)
for call in range(4):
    if call == 2 and rank == 1: time.sleep(4)
    print(attempt(step, ids()))
""",
    )
    assert outcome.code == 0, outcome.err
    lines = [lines_of(outcome, rank) for rank in range(3)]
    for mine in lines:
        assert re.match(
            r"True CommError: .*not complete within 2000 ms in group \[0, 1, 2\]: waiting for rank 1", mine[2]
        )
    assert all(mine[3] == lines[0][3] and "Error" not in mine[3] for mine in lines)


@pytest.mark.parametrize("victims", [(1,), (1, 2), (0, 2)])
def test_after_the_end_of_ranks_every_call_names_one(ranks, victims):
    outcome = ranks(
        3,
        STEP
        + f"""
step = tw.jit(train)
print(attempt(step, ids()))
print(attempt(step, ids(1)))
print(attempt(step, ids()))
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the launcher ends the others
if rank in {victims}: os.kill(os.getpid(), signal.SIGKILL)
for call in range(3): print(attempt(step, ids()), flush=True)
""",
    )
    assert outcome.code == 128 + signal.SIGKILL
    for rank in {0, 1, 2} - set(victims):
        lines = lines_of(outcome, rank)
        assert "embedding" in lines[1] and "Error" not in lines[2]
        for line in lines[3:6]:
            assert re.match(r"True CommError: \w+ .*: rank \d of group \[0, 1, 2\] has ended", line), line
            assert int(line.split(": rank ")[1][0]) in victims
        assert len(lines) == 6
