"""thalweg.distributed and global tensors on CUDA devices of several processes, each with one emulated device, through
NCCL's stand-in: what the same calls give on the CPU, and every failure an error on every rank.
"""

import pytest
from launching import HEAD
from programs import CALLS


def check(outcome, processes):
    assert outcome.code == 0, outcome.err
    assert sorted(outcome.out.splitlines()) == [f"[rank {r}] all good" for r in range(processes)]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_calls_give_what_they_should(ranks, processes):
    calls = CALLS.replace("tw.zeros(", "zeros(").replace("tw.ones(", "ones(").replace("tw.arange(", "arange(")
    check(ranks(processes, calls), processes)


def test_global_tensors(ranks):
    outcome = ranks(
        3,
        """
        import itertools
        import numpy as np
        data = np.arange(35, dtype=np.float32).reshape(7, 5)
        line = tw.placement("cuda", [0, 1, 2])
        ways = [S(0), S(1), B, P]
        for a, b in itertools.product(ways, ways):
            x = tw.tensor(data, placement=line, sbp=a)
            assert x.to_local().device == gpu
            assert (x.to_global(sbp=b).numpy() == data).all(), (a, b)
        for ranks in ([2, 0], [1]):
            there = tw.tensor(data, placement=line, sbp=P).to_global(tw.placement("cuda", ranks), S(0))
            assert (there.to_global(line, B).to_local().cpu().numpy() == data).all(), ranks
        w = tw.ones(5, 4, placement=line, sbp=S(0), requires_grad=True)
        x = tw.tensor(data, placement=line, sbp=S(1))
        (x @ w).square().sum().backward()
        assert w.grad.sbp == (S(0),) and w.grad.is_cuda
        expected = 2 * data.T @ (data @ np.ones((5, 4)))
        assert np.allclose(w.grad.numpy(), expected)
        print("all good")
        """,
    )
    check(outcome, 3)


def test_data_parallel(ranks):
    outcome = ranks(
        2,
        """
        def losses(wrap, x, y):
            tw.manual_seed(0)
            model = tw.nn.Sequential(tw.nn.Linear(4, 8), tw.nn.Tanh(), tw.nn.Linear(8, 2)).to(gpu)
            model = wrap(model)
            optimizer = tw.optim.SGD(model.parameters(), lr=0.1)
            found = []
            for _ in range(4):
                loss = (model(x) - y).square().mean()
                optimizer.zero_grad(); loss.backward(); optimizer.step()
                found.append(loss.detach())
            return found
        tw.manual_seed(1)
        x, y = tw.randn(6, 4).to(gpu), tw.randn(6, 2).to(gpu)
        alone = losses(lambda model: model, x, y)
        half = slice(3 * rank, 3 * rank + 3)
        together = losses(tw.nn.parallel.DistributedDataParallel, x[half], y[half])
        for a, b in zip(alone, together, strict=True):
            dist.all_reduce(b, dist.ReduceOp.AVG)
            assert abs(a.item() - b.item()) < 1e-5, (a, b)
        print("all good")
        """,
    )
    check(outcome, 2)


def test_calls_that_do_not_fit_are_an_error_on_every_rank(ranks):
    outcome = ranks(
        2,
        """
        try:
            x = zeros(4)
            if rank == 0: dist.all_reduce(x)
            else: dist.broadcast(x, 0)
            x.tolist()
        except tw.errors.CommError as error: print(error)
        """,
    )
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "made calls that do not fit together" in line
        assert "rank 0: all_reduce of float32 [4] (sum)" in line and "rank 1: broadcast of float32 [4]" in line


def test_a_rank_that_dies_is_an_error_on_the_others(ranks):
    outcome = ranks(
        3,
        """
        x = ones(4); dist.all_reduce(x); x.tolist()
        if rank == 1: os._exit(0)
        begin = time.time()
        try:
            dist.all_reduce(x)
            x.tolist()
        except tw.errors.CommError as error: print(f"after {time.time() - begin < 20}: {error}")
        """,
    )
    lines = sorted(outcome.out.splitlines())
    assert [line[:22] for line in lines] == ["[rank 0] after True: a", "[rank 2] after True: a"], outcome
    for line in lines:
        assert "all_reduce" in line and "rank 1 of group [0, 1, 2] has ended" in line


def test_a_rank_that_does_not_come_is_an_error_in_time(ranks):
    outcome = ranks(
        2,
        """
        x = ones(4); dist.all_reduce(x); x.tolist()
        if rank == 1: time.sleep(4)
        try:
            dist.all_reduce(x)
            x.tolist()
        except tw.errors.CommError as error: print(error)
        """,
        head=HEAD.replace("timeout=60", "timeout=2"),
    )
    lines = outcome.out.splitlines()
    assert len(lines) == 2, outcome
    for line in lines:
        assert "all_reduce of float32 [4] (sum)" in line and "not complete within 2000 ms in group [0, 1]" in line


def test_errors(ranks):
    outcome = ranks(
        2,
        """
        def fails(call, *words):
            try: call()
            except (ValueError, NotImplementedError) as error: assert all(w in str(error) for w in words), error
            else: sys.exit(f"no error that says {words}")
        other = tw.device("cuda", 1 - rank)
        fails(lambda: dist.all_reduce(tw.ones(2, device=other)), f"rank {rank} has cuda:{rank}", f"cuda:{1 - rank}")
        fails(lambda: dist.all_gather_into_tensor(tw.ones(4), ones(2)), "tensors on one device are wanted")
        fails(lambda: dist.all_reduce(ones(2).to(tw.int16)), "NCCL has no sum of int16")
        dist.barrier()
        print("all good")
        """,
    )
    check(outcome, 2)
