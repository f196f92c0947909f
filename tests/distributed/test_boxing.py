"""Boxing between processes: every change of layout gives the right parts on every rank."""

import pytest
from programs import ONE_EACH


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
