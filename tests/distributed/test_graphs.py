"""Graphs of global tensors on several processes: results, failures on either side, and steps without end."""

import re
import subprocess
from pathlib import Path

import pytest
from launching import launch_command, program_environment

HEAD = """
from thalweg._core._native import Graph, PartProgram, lay_out
import re
import numpy as np

def program(text, *, variables=()):
    graph = Graph.parse(text)
    cut, inputs, states, outputs = lay_out(graph)
    parts = [tw.tensor(variables[index]) for index, _ in states]
    return PartProgram(cut, parts), parts

STEP = '''graph "step" {
  input %0 "x" : float32[12, 6] @cpu[RANKS] S(0)
  variable %1 "up" : float32[16, 6] @cpu[RANKS] B
  variable %2 "down" : float32[6, 16] @cpu[RANKS] B
  %3 = linear(%0, %1, None) : float32[12, 16]
  %4 = gelu(%3) : float32[12, 16]
  %5 = linear(%4, %2, None) : float32[12, 6]
  %6 = sub(%5, %0) : float32[12, 6]
  %7 = mul(%6, %6) : float32[12, 6]
  %8 = sum(%7) : float32[]
  %9 = transpose(%6, dim0=0, dim1=1) : float32[6, 12]
  %10 = mm(%9, %4) : float32[6, 16]
  %11 = mm(%6, %2) : float32[12, 16]
  %12 = transpose(%11, dim0=0, dim1=1) : float32[16, 12]
  %13 = mm(%12, %0) : float32[16, 6]
  %14 = boxing(%13) : float32[16, 6] @cpu[RANKS] B
  %15 = boxing(%10) : float32[6, 16] @cpu[RANKS] B
  %16 = sub(%1, %14, alpha=0.01) : float32[16, 6]
  %17 = sub(%2, %15, alpha=0.01) : float32[6, 16]
  %18 = boxing(%8) : float32[] @cpu[RANKS] B
  assign %1 = %16
  assign %2 = %17
  return %18
}
'''.replace("RANKS", ", ".join(map(str, range(size))))

rng = np.random.default_rng(0)
x, up, down = (rng.standard_normal(shape).astype(np.float32) * 0.3 for shape in [(12, 6), (16, 6), (6, 16)])
mine = np.array_split(x, size)[rank].copy()
"""


@pytest.mark.parametrize("processes", [2, 3])
def test_a_data_parallel_step_gives_what_one_process_gives(ranks, processes):
    outcome = ranks(
        processes,
        HEAD
        + """
parallel, (u, d) = program(STEP, variables=[up, down])
alone_text = re.sub(r" @cpu.*", "", STEP)
alone = PartProgram(Graph.parse(alone_text), [a := tw.tensor(up), b := tw.tensor(down)])
for step in range(10):
    (loss,), (wanted,) = parallel.run([tw.tensor(mine)]), alone.run([tw.tensor(x)])
    np.testing.assert_allclose(loss.numpy(), wanted.numpy(), rtol=1e-5)
    np.testing.assert_allclose(u.numpy(), a.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(d.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)
kinds = [stream.kind for stream in parallel.plan().streams]
assert kinds == ["compute", "communication"], kinds
print("equal")
""",
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("equal") == processes


# The ids of rank 1 are out of range in the third step.
LOOKUP = """
LOOKUP = '''graph "lookup" {
  input %0 "table" : float32[4, 3] @cpu[0, 1] B
  input %1 "ids" : int64[4] @cpu[0, 1] S(0)
  %2 = embedding_lookup(%0, %1) : float32[4, 3] @cpu[0, 1] S(0) at "model.py:7"
  %3 = sum(%2) : float32[] @cpu[0, 1] P(sum)
  %4 = boxing(%3) : float32[] @cpu[0, 1] B
  return %4
}
'''
step, _ = program(LOOKUP)
table = tw.ones(4, 3)
ids = lambda last: tw.tensor([0, last])
"""


def test_a_step_that_fails_on_one_rank_fails_on_all_with_its_cause(ranks):
    outcome = ranks(
        2,
        HEAD
        + LOOKUP
        + """
for number in range(5):
    start = time.monotonic()
    try:
        (total,) = step.run([table, ids(9 if rank == 1 and number == 2 else 1)])
        print(f"step {number}: {total.item()}")
    except Exception as error:
        print(f"step {number}, {time.monotonic() - start < 5}: {type(error).__name__}: {error}")
""",
    )
    assert outcome.code == 0, outcome.err
    for rank in (0, 1):
        lines = [line.split("] ", 1)[1] for line in outcome.out.splitlines() if line.startswith(f"[rank {rank}]")]
        assert lines[:2] == ["step 0: 12.0", "step 1: 12.0"]
        kind = "IndexError" if rank == 1 else "CommError"
        assert re.match(rf"step 2, True: {kind}: .*embedding.*out of bounds.*model.py:7", lines[2]), lines[2]
        assert ("rank 1: " in lines[2]) == (rank == 0)
        assert lines[3:] == ["step 3: 12.0", "step 4: 12.0"]


def test_a_killed_rank_ends_the_step_of_the_others(ranks):
    outcome = ranks(
        2,
        HEAD
        + LOOKUP
        + """
for number in range(100_000):
    start = time.monotonic()
    if rank == 1 and number == 100: os.kill(os.getpid(), signal.SIGKILL)
    try:
        step.run([table, ids(1)])
    except tw.CommError as error:
        sys.exit(f"step {number}, {time.monotonic() - start < 5}: {error}")
""",
    )
    assert outcome.code != 0
    assert re.search(
        r"step 100, True: .*rank 1 of group \[0, 1\] has ended.*model.py:7|step 100, True: .*has ended", outcome.err
    )


def test_steps_in_flight_in_which_two_groups_meet_by_turns():
    # All night long: thalweg run --nproc 4 tools/bench/soak_graphs.py
    script = Path(__file__).parents[2] / "tools" / "bench" / "soak_graphs.py"
    done = subprocess.run(
        launch_command(script, 4, "500"), capture_output=True, text=True, timeout=120, env=program_environment()
    )
    assert done.returncode == 0, done.stderr
    assert "500 steps" in done.stdout
