"""The calls of thalweg.distributed, against what they should give."""

import pytest

CALLS = """
f = lambda r, n=6: tw.arange(n, dtype=tw.float32) + 10 * r
everyone = range(size)
total = sum((f(r) for r in everyone), tw.zeros(6))
eq = lambda a, b: (a.tolist() == b.tolist()) or sys.exit(f"{a} instead of {b}")

x = f(rank); dist.all_reduce(x); eq(x, total)
x = f(rank); dist.all_reduce(x, dist.ReduceOp.AVG); eq(x, total / size)
x = f(rank); dist.all_reduce(x, dist.ReduceOp.MAX); eq(x, f(size - 1))
x = f(rank).to(tw.int64) + 1; dist.all_reduce(x, op=dist.ReduceOp.PRODUCT)
want = tw.ones(6, dtype=tw.int64)
for r in everyone: want = want * (f(r).to(tw.int64) + 1)
eq(x, want)
x = f(rank).to(tw.bfloat16); dist.all_reduce(x, dist.ReduceOp.MIN); eq(x, f(0).to(tw.bfloat16))
base = tw.zeros(6, 2); base[:, 0] = f(rank); dist.all_reduce(base[:, 0])  # strided
eq(base[:, 0], total); eq(base[:, 1], tw.zeros(6))
x = f(rank); dist.reduce(x, size - 1); eq(x, total if rank == size - 1 else f(rank))
x = f(rank).view(2, 3); dist.broadcast(x, 0); eq(x, f(0).view(2, 3))

out = [tw.zeros(r + 1) for r in everyone]
dist.all_gather(out, f(rank, rank + 1))
for r in everyone: eq(out[r], f(r, r + 1))
out = tw.zeros(size, 6); dist.all_gather_into_tensor(out, f(rank)); eq(out, tw.stack([f(r) for r in everyone]))
out = tw.zeros(rank + 1); dist.reduce_scatter(out, [f(rank, r + 1) for r in everyone])
eq(out, sum((f(r, rank + 1) for r in everyone), tw.zeros(rank + 1)))
out = tw.zeros(2); dist.reduce_scatter_tensor(out, f(rank, 2 * size), dist.ReduceOp.AVG)
eq(out, sum((f(r, 2 * size) for r in everyone), tw.zeros(2 * size))[2 * rank : 2 * rank + 2] / size)
out = [tw.zeros(6) for _ in everyone] if rank == 0 else None
dist.gather(f(rank), out)
if rank == 0:
    for r in everyone: eq(out[r], f(r))
out = tw.zeros(6); dist.scatter(out, [f(r) for r in everyone] if rank == size - 1 else None, src=size - 1)
eq(out, f(rank))
out = [tw.zeros(rank + r) for r in everyone]
dist.all_to_all(out, [f(rank, rank + r) + 100 * r for r in everyone])
for r in everyone: eq(out[r], f(r, rank + r) + 100 * rank)
out = tw.zeros(size, 3); dist.all_to_all_single(out, f(rank, 3 * size).view(size, 3))
eq(out, tw.stack([f(r, 3 * size)[3 * rank : 3 * rank + 3] for r in everyone]))
dist.barrier()

a = [f(rank), f(rank + 1)]
works = [dist.all_reduce(x, async_op=True) for x in a]
while not works[1].is_completed(): pass
assert works[0].wait() and works[0].is_completed()
eq(a[0], total); eq(a[1], total + 10 * size)
after = (rank + 1) % size, (rank - 1) % size
if size > 1:
    got = tw.zeros(6)
    both = [dist.P2POp(dist.isend, f(rank), after[0]), dist.P2POp(dist.irecv, got, after[1])]
    for work in dist.batch_isend_irecv(both): work.wait()
    eq(got, f(after[1]))
    if rank == 0: dist.send(f(7), 1, tag=3)
    if rank == 1: assert dist.recv(got, src=0, tag=3) == 0; eq(got, f(7))

objects = [None] * size; dist.all_gather_object(objects, {"rank": rank})
assert objects == [{"rank": r} for r in everyone], objects
objects = [rank, "x" * rank]; dist.broadcast_object_list(objects, src=size - 1)
assert objects == [size - 1, "x" * (size - 1)], objects
objects = [None]; dist.scatter_object_list(objects, [r * r for r in everyone] if rank == 0 else None)
assert objects == [rank * rank], objects
objects = [None] * size if rank == 0 else None; dist.gather_object(rank + 5, objects)
assert rank > 0 or objects == [r + 5 for r in everyone]
print("all good")
"""


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_calls_give_what_they_should(ranks, processes):
    outcome = ranks(processes, CALLS)
    assert outcome.code == 0, outcome.err
    assert sorted(outcome.out.splitlines()) == [f"[rank {r}] all good" for r in range(processes)]


def test_groups_are_independent_and_need_not_be_made_by_others(ranks):
    # U047: a group of one rank, then a barrier of all; a call on a group that the caller is not in.
    outcome = ranks(
        3,
        """
        if rank == 0:
            alone = dist.new_group([0]); x = tw.ones(2); dist.all_reduce(x, group=alone); assert x.tolist() == [1, 1]
        dist.barrier()
        pair = dist.new_group([2, 1])
        assert dist.get_rank(pair) == {0: -1, 1: 1, 2: 0}[rank] and dist.get_world_size(pair) == (2 if rank else -1)
        x = tw.tensor([float(rank)])
        if rank == 0:
            try: dist.all_reduce(x, group=pair)
            except ValueError as error: print(error)
        else:
            dist.all_reduce(x, group=pair); assert x.item() == 3
            dist.broadcast(x, 1, group=pair)
        dist.barrier()
        """,
    )
    assert outcome.code == 0, outcome.err
    assert "[rank 0] all_reduce: this process is not in group [2, 1]" in outcome.out


def test_calls_of_one_process_are_checked():
    import thalweg as tw
    import thalweg.distributed as dist

    with pytest.raises(ValueError, match="init_process_group has not been called"):
        dist.all_reduce(tw.ones(2))
    dist.init_process_group()
    try:
        with pytest.raises(RuntimeError, match="called before"):
            dist.init_process_group()
        with pytest.raises(ValueError, match="broadcast: a rank of group .0. is wanted, got 1"):
            dist.broadcast(tw.ones(2), 1)
        with pytest.raises(ValueError, match="a list of 1 tensors, one a rank, is wanted, got 2"):
            dist.all_gather([tw.ones(2), tw.ones(2)], tw.ones(2))
        with pytest.raises(TypeError, match="averages of floats are possible, got"):
            dist.all_reduce(tw.ones(2, dtype=tw.int32), dist.ReduceOp.AVG)
        with pytest.raises(ValueError, match="a rank comes twice"):
            dist.new_group([0, 0])
        with pytest.raises(ValueError, match="a rank below 1 is wanted, got 3"):
            dist.new_group([3])
        version = (x := tw.ones(2))._version
        dist.all_reduce(x)
        assert x._version > version
    finally:
        dist.destroy_process_group()
