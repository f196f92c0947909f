"""Which transport machines use, who chooses it, and what it carries: over TCP and UCX alike."""

import os

import machines
import pytest
from launching import HEAD


def lines_of(outcomes):
    assert all(outcome.code == 0 for outcome in outcomes), [outcome.err for outcome in outcomes]
    return sorted(line for outcome in outcomes for line in outcome.out.splitlines())


def start_two(tmp_path, code, **variables):
    """Starts a launcher on each of two machines, told apart by their names; `variables` are those of the second."""
    script = tmp_path / "program.py"
    script.write_text(HEAD + code, encoding="utf-8")
    network = machines.OneAddress()
    plain = network.prefix
    network.prefix = lambda node: plain(node) + [f"{name}={value}" for name, value in variables.items() if node == 1]
    return machines.start(network, script, [1, 1])


SAY = "print(dist.get_transport(0), dist.get_transport(1))\n"


def test_the_transport_is_that_of_the_environment(nodes):
    want = os.environ["THALWEG_TRANSPORT"]
    said = lines_of(nodes([2, 1], "print(*(dist.get_transport(other) for other in range(size)))"))
    assert said == [
        f"[rank 0] self shared memory {want}",
        f"[rank 1] shared memory self {want}",
        f"[rank 2] {want} {want} self",
    ]


def test_ucx_is_taken_where_both_have_it_and_tcp_otherwise(tmp_path, monkeypatch):
    monkeypatch.delenv("THALWEG_TRANSPORT", raising=False)
    assert lines_of(machines.finish(start_two(tmp_path, SAY))) == ["[rank 0] self ucx", "[rank 1] ucx self"]
    without = start_two(tmp_path, SAY, THALWEG_UCX="/nowhere/libucp.so.0")
    assert lines_of(machines.finish(without)) == ["[rank 0] self tcp", "[rank 1] tcp self"]


@pytest.mark.parametrize(
    "second, problem",
    [
        ({"THALWEG_TRANSPORT": "tcp"}, "process 0 wants UCX (THALWEG_TRANSPORT=ucx), of which it has version 1."),
        ({"THALWEG_TRANSPORT": "", "THALWEG_UCX": "/nowhere/libucp.so.0"}, "; process 1 has none"),
        ({"THALWEG_UCX": "/nowhere/libucp.so.0"}, "THALWEG_TRANSPORT=ucx: UCX cannot be loaded: /nowhere/libucp.so.0"),
        (
            {"THALWEG_TRANSPORT": "smoke"},
            "the environment variable THALWEG_TRANSPORT should be tcp or ucx, got 'smoke'",
        ),
    ],
)
def test_what_is_forced_and_cannot_be_is_an_error(second, problem, tmp_path, monkeypatch):
    monkeypatch.setenv("THALWEG_TRANSPORT", "ucx")
    waiting, failing = start_two(tmp_path, SAY, **second)
    try:
        (outcome,) = machines.finish([failing])
    finally:
        waiting.terminate()
        waiting.communicate()
    assert outcome.code == 1 and problem in outcome.err, outcome.err


RANDOM = """
import numpy as np
shared = np.random.default_rng(7)  # the same choices on all ranks
groups = [dist.new_group(), dist.new_group([2, 0, 1]), dist.new_group([0, 2]), dist.new_group([1, 2])]
def data(owner, step, n):
    return np.random.default_rng([step, owner]).integers(-50, 50, n).astype(np.float32)
def one(step):
    group = groups[shared.integers(len(groups))]
    members, kind = list(group.ranks), shared.integers(6)
    n = int(shared.choice([1, 5, 700, 9_001, 40_003, 150_001] if step % 20 == 0 else [0, 1, 5, 700, 4_001]))
    counts = [int(shared.integers(0, n + 1)) for _ in members]
    root = int(shared.integers(len(members)))
    if rank not in members: return
    me = members.index(rank)
    inputs = [data(m, step, n) for m in members]
    mine = tw.tensor(inputs[me])
    if kind == 0:
        dist.all_reduce(mine, group=group); got, want = mine, sum(inputs)
    elif kind == 1:
        dist.all_reduce(mine, dist.ReduceOp.MAX, group=group); got, want = mine, np.maximum.reduce(inputs)
    elif kind == 2:
        dist.broadcast(mine, members[root], group=group); got, want = mine, inputs[root]
    elif kind == 3:
        parts = [tw.zeros(c) for c in counts]
        dist.all_gather(parts, mine[: counts[me]], group=group)
        got, want = tw.cat(parts), np.concatenate([x[:c] for x, c in zip(inputs, counts)])
    elif kind == 4:
        got = tw.zeros(counts[me])
        whole = [data(m, step, sum(counts)) for m in members]
        dist.reduce_scatter(got, list(tw.tensor(whole[me]).split(counts)), group=group)
        want = np.split(sum(whole), np.cumsum(counts)[:-1])[me]
    else:
        after, before = members[(me + 1) % len(members)], members[me - 1]
        got = tw.zeros(n)
        both = [dist.P2POp(dist.isend, mine, after, group), dist.P2POp(dist.irecv, got, before, group)]
        for work in dist.batch_isend_irecv(both): work.wait()
        want = inputs[me - 1]
    np.testing.assert_array_equal(got.numpy(), want, err_msg=f"step {step}, kind {kind}, {group}, n {n}, {counts}")
for step in range(1000): one(step)
print("equal")
"""


def test_a_thousand_random_calls_give_what_numpy_gives(nodes):
    assert len(lines_of(nodes([2, 1], RANDOM, timeout=300))) == 3
