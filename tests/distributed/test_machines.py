"""Groups over several machines: what they compute, what they send, and whose failure they notice."""

import os
import re
import signal
import textwrap
import time

import machines
import pytest
from launching import HEAD
from programs import CALLS, ONE_EACH


def lines_of(outcomes):
    assert all(outcome.code == 0 for outcome in outcomes), [outcome.err for outcome in outcomes]
    return sorted(line for outcome in outcomes for line in outcome.out.splitlines())


def test_calls_give_what_they_should(nodes):
    assert lines_of(nodes([2, 2], CALLS)) == [f"[rank {rank}] all good" for rank in range(4)]


def test_launchers_tell_processes_where_they_are(nodes):
    said = lines_of(nodes([2, 2], "print(tw.env.get_node_size(), tw.env.get_local_rank(), os.environ['LOCAL_RANK'])"))
    assert said == [f"[rank {rank}] 2 {rank % 2} {rank % 2}" for rank in range(4)]


def test_layouts_change_between_machines(nodes):
    code = (
        ONE_EACH
        + """
mesh, line = placed([[0, 1], [2, 3]]), placed([0, 1, 2, 3])
check_all(line, line)
check_all(mesh, mesh, 97)
check_all(mesh, placed([[3, 1], [0, 2]]), 97)
check_all(placed([0, 1, 2]), placed([3, 1]), 7)
plan = tw.sbp.explain(P, B, (4096, 16), placement=line)
assert "1. all_reduce over axis 0: 1572864 bytes, 524288 between machines in two levels" in plan, plan
print("done")
"""
    )
    assert len(lines_of(nodes([2, 2], code))) == 4


def test_large_calls_send_every_byte_once_between_machines(nodes):
    code = """
    x = tw.ones(1 << 18) * (rank + 1)
    everyone = dist.new_group()
    far = lambda: everyone.core("count").far_bytes
    def crossed(call):
        before = far()
        call()
        count = tw.tensor([far() - before])
        dist.all_reduce(count)
        return count.item()
    half = tw.zeros(1 << 17)
    print(crossed(lambda: dist.all_reduce(x, group=everyone)) / (4 << 18),
          crossed(lambda: dist.broadcast(x, 1, group=everyone)) / (4 << 18),
          crossed(lambda: dist.all_gather_into_tensor(tw.zeros(size << 16), x[: 1 << 16], group=everyone))
          / (4 * size << 16), x[5].item())
    """
    assert lines_of(nodes([2, 2], code)) == [f"[rank {rank}] 2.0 1.0 1.0 10.0" for rank in range(4)]


def test_gradients_are_averaged_between_machines(nodes):
    code = """
    tw.manual_seed(0)
    net = tw.nn.Sequential(tw.nn.Linear(40, 300), tw.nn.ReLU(), tw.nn.Linear(300, 3))
    model = tw.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.02)
    tw.manual_seed(1)
    x = tw.randn(4 * size, 40)
    model(x[4 * rank : 4 * rank + 4]).square().mean().backward()
    averaged = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net(x).square().mean().backward()
    assert all(tw.allclose(a, p.grad, rtol=1e-4, atol=1e-6) for a, p in zip(averaged, net.parameters()))
    print("equal")
    """
    assert len(lines_of(nodes([2, 1], code))) == 3


GRAPH = """
import numpy as np
from thalweg._core._native import Graph, PartProgram, lay_out
where = f"@cpu{list(range(size))}"
text = f'''graph "norms" {{
  input %0 "x" : float32[3000, 40] {where} S(0)
  variable %1 "w" : float32[40, 40] {where} B
  %2 = mm(%0, %1) : float32[3000, 40]
  %3 = transpose(%0, dim0=0, dim1=1) : float32[40, 3000]
  %4 = mm(%3, %2) : float32[40, 40]
  %5 = boxing(%4) : float32[40, 40] {where} B
  %6 = boxing(%2) : float32[3000, 40] {where} B
  assign %1 = %5
  return %6
}}'''
rng = np.random.default_rng(0)
x, w = (rng.standard_normal(shape).astype(np.float32) / 60 for shape in [(3000, 40), (40, 40)])
cut, inputs, states, outputs = lay_out(Graph.parse(text))
weight = tw.tensor(w)
program, mine = PartProgram(cut, [weight]), tw.tensor(np.array_split(x, size)[rank].copy())
for step in range(20):
    (y,) = program.run([mine])
    np.testing.assert_allclose(y.numpy(), x @ w, rtol=1e-3, atol=1e-6)
    w = x.T @ (x @ w)
    np.testing.assert_allclose(weight.numpy(), w, rtol=1e-3, atol=1e-6)
print("equal")
"""


def test_graphs_box_between_machines(nodes):
    assert len(lines_of(nodes([2, 1], GRAPH))) == 3


def test_calls_that_do_not_fit_are_errors_on_every_machine(nodes):
    outcomes = nodes(
        [1, 2],
        """
        x = tw.ones(40_000)
        try: dist.all_reduce(x) if rank else dist.broadcast(x, 0)
        except tw.CommError as error: print(error)
        """,
    )
    for line in (lines := lines_of(outcomes)):
        assert "broadcast of float32 [40000] with root 0" in line and "all_reduce of float32 [40000] (sum)" in line
    assert len(lines) == 3


LOOP = """
x = tw.ones(200_000)
pids = [None] * size
dist.all_gather_object(pids, os.getpid())
if rank == 0: print("begun", *pids, flush=True)
beginning = time.monotonic()
try:
    while True: dist.all_reduce(x, dist.ReduceOp.MAX); beginning = time.monotonic()
except tw.CommError as error:
    print(f"noticed {time.monotonic() - beginning:.1f} s later: {error}")
    sys.exit(3)
"""


def begin(network, tmp_path, processes, code):
    script = tmp_path / "program.py"
    script.write_text(HEAD + textwrap.dedent(code), encoding="utf-8")
    started = machines.start(network, script, processes)
    return started, [int(pid) for pid in started[0].stdout.readline().split()[3:]]


def test_a_killed_rank_is_noticed_on_the_other_machine(network, tmp_path):
    # It has a worker that outlives it, which must not keep its connections open.
    worker = "dist.barrier()\nif rank == 2 and os.fork() == 0: os.setsid(); time.sleep(8); os._exit(0)\n"
    started, pids = begin(network, tmp_path, [2, 1], worker + LOOP)
    time.sleep(0.2)
    os.kill(pids[2], signal.SIGKILL)
    first, second = machines.finish(started)
    assert (first.code, second.code) == (3, 128 + signal.SIGKILL)
    assert "rank 2 failed first, with signal SIGKILL" in second.err
    for line in first.out.splitlines():
        assert re.search(
            r"noticed [0-4]\.\d s later: all_reduce of float32 .*: rank 2 of group \[0, 1, 2\] has ended", line
        )
    assert len(first.out.splitlines()) == 2


def test_a_rank_that_is_killed_before_it_has_read_what_was_sent_is_noticed(network, tmp_path):
    # It has come to the broadcast, which needs nothing else of it but that it reads.
    code = """
    x = tw.ones(12_000)
    pids = [None] * size
    dist.all_gather_object(pids, os.getpid())
    if rank == 1: began = dist.broadcast(x, 0, async_op=True)
    dist.send(x[:1], 1 - rank) if rank else dist.recv(x[:1], 1)
    if rank == 0: print("begun", *pids, flush=True)
    if rank == 1: time.sleep(60)
    beginning = time.monotonic()
    try: dist.broadcast(x, 0), dist.barrier()
    except tw.CommError as error: print(f"noticed {time.monotonic() - beginning:.1f} s later: {error}")
    """
    started, pids = begin(network, tmp_path, [1, 1], code)
    time.sleep(0.5)  # by then the broadcast has been sent
    os.kill(pids[1], signal.SIGKILL)
    first, _ = machines.finish(started)
    assert re.search(r"noticed [0-4]\.\d s later: .*: rank 1 of group \[0, 1\] has ended", first.out), first


def test_a_stuck_rank_of_another_machine_is_named(nodes):
    code = """
    pair = dist.new_group(timeout=1.5)
    dist.barrier()
    if rank == 1:
        time.sleep(4)
        sys.exit()
    try: dist.recv(tw.zeros(3), 1, group=pair)
    except tw.CommError as error: print(error)
    """
    (line,) = lines_of(nodes([1, 1], code))
    assert re.search(
        r"recv of float32, 3 elements, .*: not complete within 1500 ms in group .0, 1.: waiting for rank 1", line
    )


def test_a_machine_that_is_cut_off_is_noticed(transport, tmp_path):
    if reason := machines.why_no_namespaces():
        pytest.skip(reason)
    network = machines.Namespaces()
    try:
        started, _ = begin(network, tmp_path, [1, 1], LOOP)
        time.sleep(0.2)
        network.cut()
        outcomes = machines.finish(started, 60)
    finally:
        network.close()
    for outcome in outcomes:
        assert outcome.code == 3 and re.search(r"noticed (1\d|[5-9])\.\d s later: .* cannot be reached", outcome.out), (
            outcome
        )
