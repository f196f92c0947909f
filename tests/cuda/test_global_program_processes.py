"""Static programs of global tensors on CUDA devices of several processes, each with one: what eager mode gives there,
and what a failure on one rank tells the others.
"""

import re
from pathlib import Path

import numpy as np
import pytest

PROCESSES = {"data parallel on 2": 2, "tensor parallel on 2": 2, "parameters cut": 3, "both": 4}


@pytest.mark.parametrize("plan", PROCESSES)
def test_a_training_step_is_that_of_eager_mode(ranks, plan):
    processes = PROCESSES[plan]
    outcome = ranks(
        processes,
        f"""
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]}
        from parallel_steps import mlp_losses
        for compiled in (False, True):
            print(*[f"{{x:.6f}}" for pair in mlp_losses({plan!r}, compiled) for x in pair])
        """,
    )
    assert outcome.code == 0, outcome.err
    lines = [[float(x) for x in line.split("] ", 1)[1].split()] for line in outcome.out.splitlines()]
    assert len(lines) == 2 * processes
    for line in lines:
        np.testing.assert_allclose(line, lines[0], rtol=2e-5)
    assert lines[0][8] < lines[0][0]


def test_layouts_change_on_any_ranks(ranks):
    outcome = ranks(
        3,
        """
        import numpy as np
        data = np.arange(35, dtype=np.float32).reshape(7, 5)
        line, ways = tw.placement("cuda", [0, 1, 2]), [S(0), S(1), B, P]
        apart = tw.placement("cuda", [2, 0])
        turn = tw.jit(lambda x: [x.to_global(sbp=way).to_global(sbp=B) for way in ways])
        visit = tw.jit(lambda x: [x.to_global(apart, way).to_global(line, B) for way in ways])
        for dtype in (tw.float32, tw.int16):
            for way in ways:
                x = tw.tensor(data, placement=line, sbp=way).to(dtype)
                for f in (turn, visit, turn):
                    for found in f(x):
                        assert found.to_local().device == gpu
                        assert (found.to_local().cpu().numpy() == data).all(), (dtype, way)
        print("all good")
        """,
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("all good") == 3


LOOKUP = """
line = tw.placement("cuda", list(range(size)))
table = tw.nn.Embedding(4, 3).to_global(line, B)
@tw.jit
def step(ids):  # each rank looks up its own rows, and no others
    rows = table.weight.to_local().index_select(0, ids.to_local())  # which looks at once whether an index is negative
    return tw.local_to_global(rows, line, S(0), check_meta=False).square().sum().to_global(sbp=B)
def ids(last):
    return tw.local_to_global(tw.tensor([0, last]), line, S(0))
def attempt(call):
    start = time.monotonic()
    try: return f"{call().item():.4f}"
    except Exception as error:
        return f"{time.monotonic() - start < 20}: {type(error).__name__}: {str(error).splitlines()[0]}"
"""


def lines_of(outcome, rank: int) -> list[str]:
    return [line.split("] ", 1)[1] for line in outcome.out.splitlines() if line.startswith(f"[rank {rank}]")]


def test_a_step_that_fails_on_one_rank_fails_on_all_and_the_next_works(ranks):
    outcome = ranks(
        2,
        LOOKUP
        + """
for call in range(6): print(attempt(lambda: step(ids(-1 if rank == 1 and call in (0, 3) else 1))))
""",
    )
    assert outcome.code == 0, outcome.err
    first, second = lines_of(outcome, 0), lines_of(outcome, 1)
    good = [k for k in range(6) if k not in (0, 3)]
    assert [first[k] for k in good] == [first[1]] * 4 == [second[k] for k in good]
    for call in (0, 3):
        assert re.match(r"True: CommError: .*rank 1: .*index_select: indices must not be negative", first[call]), first
        assert re.match(r"True: IndexError: .*index_select: indices must not be negative", second[call]), second


def test_a_killed_rank_ends_the_step_of_the_others(ranks):
    outcome = ranks(
        2,
        LOOKUP
        + """
for call in range(100):
    if rank == 1 and call == 5: os.kill(os.getpid(), signal.SIGKILL)
    found = attempt(lambda: step(ids(1)))
    if "Error" in found: sys.exit(f"call {call}: {found}")
""",
    )
    assert outcome.code != 0
    assert re.search(r"call 5: True: CommError: .*rank 1 of group \[0, 1\] has ended", outcome.err), outcome.err


def test_processes_that_do_not_make_the_same_boxings_are_told(ranks):
    outcome = ranks(
        2,
        """
        line = tw.placement("cuda", [0, 1])
        f = tw.jit(lambda x: x.to_global(sbp=B if rank == 0 else S(1)))
        try: f(tw.ones(4, 4, placement=line, sbp=S(0)))
        except tw.CommError as error: print(error)
        """,
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("the processes do not make the same boxings") == 2


def test_control_flow_decides_alike(ranks):
    outcome = ranks(
        2,
        """
        line = tw.placement("cuda", [0, 1])
        def shrink(x):
            count = tw.zeros((), dtype=tw.int64, placement=line, sbp=B)
            while x.abs().sum() > 1:
                x = x / 2
                count = count + 1
            return x if x.sum() > 0 else -x, count
        compiled = tw.jit(shrink)
        for k in range(1, 5):
            x = tw.tensor([-1.0, 2.0 * k, 3.0, -4.0], placement=line, sbp=S(0))
            for a, b in zip(compiled(x), shrink(x), strict=True): assert a.tolist() == b.tolist()
        print("all good")
        """,
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("all good") == 2
