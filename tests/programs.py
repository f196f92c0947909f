"""Programs that several tests run, under the launcher's fixture: `tw`, `dist`, `rank` and `size` are there."""

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

SETUP = """
import itertools
import numpy as np
S, B, P, MAX = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum, tw.sbp.partial_max
data = np.arange(35, dtype=np.float32).reshape(7, 5) + 1
CHOICES = [S(0), S(1), S(0, unit=2), B, P, MAX]
pending = lambda s: s in (P, MAX)

def placed(ranks):
    return tw.placement("cpu", ranks)

def make(where, sbp):
    # Contributions differ: of a sum they are multiples of the value that add up to one, of a maximum less by the rank.
    whole = tw.tensor(data, placement=where, sbp=[B if pending(s) else s for s in sbp])
    if not any(map(pending, sbp)):
        return whole
    if not any(r in RANKS for r in where.ranks.flatten()):
        return tw.tensor(data, placement=where, sbp=list(sbp))  # of which nothing lies here
    parts = whole.to_local()
    mine = [i for i, r in enumerate(where.ranks.flatten()) if r in RANKS]
    changed = []
    for part, position in zip(parts if isinstance(parts, tuple) else (parts,), mine):
        at = np.unravel_index(position, where.shape)
        for axis in reversed(range(len(sbp))):
            n = where.shape[axis]
            if sbp[axis] == P:
                part = part * float(2 if at[axis] else 1 - 2 * (n - 1))
            if sbp[axis] == MAX:
                part = part - float(at[axis])
        changed.append(part)
    return tw.local_to_global(changed, where, list(sbp))

def check(source, before, target, after):
    x = make(source, before)
    y = x.to_global(target, list(after))
    if not any(r in RANKS for r in target.ranks.flatten()):
        return
    try:
        np.testing.assert_array_equal(y.numpy(), data)
        if not any(map(pending, after)):
            want = tw.tensor(data, placement=target, sbp=list(after)).to_local()
            have = y.to_local()
            for a, b in zip(*((t if isinstance(t, tuple) else (t,)) for t in (want, have))):
                np.testing.assert_array_equal(b.numpy(), a.numpy())
    except AssertionError as error:
        sys.exit(f"{source} {before} to {target} {after}: {error}")

def check_all(source, target, stride=1):
    count = 0
    ways = [list(itertools.product(CHOICES, repeat=p.ndim)) for p in (source, target)]
    for number, (before, after) in enumerate(itertools.product(*ways)):
        # A sum of maxima is no maximum: contributions that nest so are not what make() gives.
        mixed = len({s for s in before if pending(s)}) > 1
        if number % stride == 0 and not mixed:
            check(source, before, target, after)
            count += 1
    return count
"""

ONE_EACH = SETUP + "RANKS = [rank]\n"
