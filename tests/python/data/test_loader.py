"""DataLoader: what it yields, in which order, with which random numbers, here and in workers."""

import random

import numpy as np
import pytest
import thalweg as tw
from thalweg.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    WorkerInfo,
    get_worker_info,
)

WORKERS = [0, 1, 3]


class Rows(Dataset):
    def __init__(self, n, width=2000):
        self.n, self.width = n, width

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return tw.full((self.width,), float(i)), i


class Stream(IterableDataset):
    """0 ... n - 1, shared out among the workers."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, self.n, step))

    def __len__(self):
        return self.n


class Draws(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return i, tw.rand(1).item(), random.random(), float(np.random.rand())


def labels(loader):
    out = []
    for x, y in loader:
        assert bool((x[:, 0] == y).all()) and bool((x[:, -1] == y).all())
        out.append(y.tolist())
    return out


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_in_order(workers, drop_last):
    loader = DataLoader(Rows(10), batch_size=4, num_workers=workers, drop_last=drop_last)
    want = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]][: 2 if drop_last else 3]
    assert labels(loader) == want and len(loader) == len(want)


@pytest.mark.parametrize("workers", WORKERS)
def test_shuffle_follows_generator_whatever_the_workers(workers):
    def order(workers, seed):
        generator = tw.Generator().manual_seed(seed)
        loader = DataLoader(Rows(20, 3), batch_size=4, shuffle=True, num_workers=workers, generator=generator)
        return labels(loader), labels(loader)

    first, second = order(workers, 1)
    assert first != second and sorted(sum(first, [])) == list(range(20))
    assert order(0, 1) == (first, second) and order(workers, 2) != (first, second)


@pytest.mark.parametrize("workers", WORKERS)
def test_samplers_and_no_batches(workers):
    assert labels(DataLoader(Rows(5), 2, sampler=[4, 0, 2], num_workers=workers)) == [[4, 0], [2]]
    assert labels(DataLoader(Rows(5), batch_sampler=[[1], [3, 2]], num_workers=workers)) == [[1], [3, 2]]
    assert [y for _, y in DataLoader(Rows(3), batch_size=None, num_workers=workers)] == [0, 1, 2]
    drawn = RandomSampler(range(4), replacement=True, num_samples=9)
    assert len(sum(labels(DataLoader(Rows(4), 2, sampler=drawn, num_workers=workers)), [])) == 9


@pytest.mark.parametrize("workers", WORKERS)
def test_streams(workers):
    def flat(**how):
        return [n for batch in DataLoader(Stream(11), num_workers=workers, **how) for n in batch.tolist()]

    assert sorted(flat(batch_size=2)) == list(range(11))
    assert all(len(b) == 2 for b in DataLoader(Stream(11), 2, num_workers=workers, drop_last=True))
    assert sorted(DataLoader(Stream(7), batch_size=None, num_workers=workers)) == list(range(7))
    assert len(DataLoader(Stream(11), 2)) == 6 and len(DataLoader(Stream(11), 2, drop_last=True)) == 5


def test_in_order_false_yields_everything():
    loader = DataLoader(Rows(40, 3), batch_size=3, num_workers=3, in_order=False)
    assert sorted(sum(labels(loader), [])) == list(range(40))


@pytest.mark.parametrize("factor", [1, 7, 500])
def test_prefetch_never_blocks(factor):
    loader = DataLoader(Rows(600, 900), batch_size=1, num_workers=2, prefetch_factor=factor)
    assert labels(loader) == [[i] for i in range(600)]


def test_persistent_workers_serve_epochs_also_left_early():
    loader = DataLoader(Rows(12), batch_size=2, num_workers=2, persistent_workers=True)
    for epoch in range(4):
        seen = []
        for x, y in loader:
            assert bool((x[:, 5] == y).all())
            seen += y.tolist()
            if epoch == 1 and len(seen) == 4:
                break
        assert seen == list(range(4 if epoch == 1 else 12))
    assert len({process.pid for process in loader._pool._processes}) == 2
    stale = iter(loader)
    iter(loader)
    with pytest.raises(RuntimeError, match="newer iterator"):
        next(stale)
    loader._pool.close()


def test_persistent_streams_start_again():
    loader = DataLoader(Stream(9), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(3):
        assert sorted(n for batch in loader for n in batch.tolist()) == list(range(9))
    loader._pool.close()


def test_workers_draw_reproducible_and_different_numbers():
    def draw():
        generator = tw.Generator().manual_seed(7)
        return [tuple(c.item() for c in row) for row in DataLoader(Draws(), num_workers=2, generator=generator)]

    first = draw()
    assert first == draw()
    for column in (1, 2, 3):
        assert len({row[column] for row in first}) == 8


def infos(worker_id):
    info = get_worker_info()
    assert type(info) is WorkerInfo and info.id == worker_id and info.num_workers == 2 and len(info.dataset) == 4
    info.dataset.width = 10 + worker_id


def test_worker_info_and_init_fn():
    assert get_worker_info() is None
    sizes = [x.shape[1] for x, _ in DataLoader(Rows(4), num_workers=2, worker_init_fn=infos)]
    assert sizes == [10, 11, 10, 11] and get_worker_info() is None


def first_labels(samples):
    return [y for _, y in samples]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start(method):
    loader = DataLoader(TensorDataset(tw.arange(6)), 3, num_workers=1, multiprocessing_context=method, collate_fn=len)
    assert list(loader) == [3, 3]


@pytest.mark.parametrize("workers", WORKERS)
def test_collate_fn(workers):
    assert list(DataLoader(Rows(4), 2, collate_fn=first_labels, num_workers=workers)) == [[0, 1], [2, 3]]


def test_getitems_fetches_a_batch_at_once():
    class Many(Rows):
        def __getitems__(self, indices):
            return [("batch", i) for i in indices]

    assert list(DataLoader(Many(3), 2, collate_fn=list)) == [[("batch", 0), ("batch", 1)], [("batch", 2)]]


@pytest.mark.parametrize(
    "how",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"prefetch_factor": 0, "num_workers": 1},
        {"persistent_workers": True},
        {"multiprocessing_context": "fork"},
        {"sampler": [0], "shuffle": True},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"dataset": Stream(3), "shuffle": True},
        {"dataset": Stream(3), "sampler": [0]},
    ],
)
def test_refusals(how):
    with pytest.raises(ValueError):
        DataLoader(**{"dataset": Rows(3), **how})


def test_what_is_fixed_and_what_is_not():
    loader = DataLoader(Rows(3))
    with pytest.raises(ValueError, match="batch_size cannot be changed"):
        loader.batch_size = 5
    loader.timeout = 3
    assert loader.timeout == 3


@pytest.mark.skipif(tw.cuda.is_available(), reason="with an accelerator it has an effect")
def test_pin_memory_says_that_it_has_no_effect():
    with pytest.warns(UserWarning, match="pin_memory"):
        loader = DataLoader(Rows(2), pin_memory=True)
    assert labels(loader) == [[0], [1]]
