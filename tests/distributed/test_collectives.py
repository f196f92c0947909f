"""The calls of thalweg.distributed, against what they should give."""

import pytest
from programs import CALLS


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
