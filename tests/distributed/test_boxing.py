"""Boxing between processes: every change of layout gives the right parts on every rank."""

import pytest

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


@pytest.mark.parametrize("processes", [2, 4])
def test_all_pairs_on_one_axis(ranks, processes):
    code = ONE_EACH + "line = placed(range(size))\nassert check_all(line, line) == 36\nprint('done', rank)"
    done = ranks(processes, code)
    assert done.code == 0, done.err
    assert done.out.count("done") == processes


def test_meshes_and_other_placements(ranks):
    code = (
        ONE_EACH
        + """
mesh, line = placed([[0, 1], [2, 3]]), placed([0, 1, 2, 3])
check_all(mesh, mesh, 61)
check_all(mesh, placed([[3, 1], [0, 2]]), 97)
check_all(line, mesh, 17)
check_all(mesh, line, 17)
check_all(placed([0, 1]), placed([2, 3]), 3)
check_all(placed([0, 1, 2]), placed([3, 1]), 5)
print('done', rank)
"""
    )
    done = ranks(4, code)
    assert done.code == 0, done.err
    assert done.out.count("done") == 4


def test_replicas_are_equal_bit_for_bit(ranks):
    code = (
        ONE_EACH
        + """
line = placed(range(size))
part = tw.tensor(np.random.default_rng(rank).standard_normal((50, 30)).astype(np.float32))
whole = tw.local_to_global([part], line, [P]).to_global(sbp=B).to_local()
bits = tw.local_to_global([whole.reshape(1, -1)], line, [S(0)]).numpy()
assert (bits == bits[:1]).all() and abs(bits).sum() > 0
print('done', rank)
"""
    )
    done = ranks(4, code)
    assert done.code == 0, done.err
    assert done.out.count("done") == 4
