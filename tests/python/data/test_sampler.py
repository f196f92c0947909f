"""Samplers: coverage, lengths, reproducibility, refusals."""

import pytest
import thalweg as tw
from thalweg.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

DATA = range(50)


def seeded(seed=3):
    return tw.Generator().manual_seed(seed)


def test_sequential():
    sampler = SequentialSampler(DATA)
    assert list(sampler) == list(DATA) and len(sampler) == 50


def test_random_is_a_new_permutation_each_time():
    sampler = RandomSampler(DATA)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(DATA) and first != second


def test_random_follows_generator_and_global_seed():
    assert list(RandomSampler(DATA, generator=seeded())) == list(RandomSampler(DATA, generator=seeded()))
    orders = []
    for _ in range(2):
        tw.manual_seed(5)
        orders.append(list(RandomSampler(DATA)))
    assert orders[0] == orders[1]


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("count", [1, 33, 50, 130])
def test_random_counts(replacement, count):
    sampler = RandomSampler(DATA, replacement=replacement, num_samples=count, generator=seeded())
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == count and set(drawn) <= set(DATA)
    if not replacement:
        assert all(drawn.count(i) <= -(-count // 50) for i in DATA)


def test_random_of_nothing():
    assert list(RandomSampler([])) == []
    with pytest.raises(ValueError, match="empty data set"):
        list(RandomSampler([], num_samples=3))


def test_subset_random():
    sampler = SubsetRandomSampler([5, 7, 9], generator=seeded())
    assert sorted(sampler) == [5, 7, 9] and len(sampler) == 3


def test_weighted():
    drawn = list(WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=seeded()))
    assert drawn.count(1) == 0 and abs(drawn.count(2) - 3000) < 150
    assert sorted(WeightedRandomSampler([1.0, 1.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    with pytest.raises(ValueError, match="1-d weights"):
        WeightedRandomSampler([[1.0]], 1)


def test_batch():
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(range(5), 2, False)) == 3 and len(BatchSampler(range(5), 2, True)) == 2
    assert list(BatchSampler(range(4), 2, False)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomSampler(DATA, num_samples=0),
        lambda: RandomSampler(DATA, replacement=1),
        lambda: WeightedRandomSampler([1.0], -1),
        lambda: BatchSampler(DATA, 0, False),
        lambda: BatchSampler(DATA, True, False),
        lambda: BatchSampler(DATA, 2, "yes"),
    ],
)
def test_refusals(make):
    with pytest.raises((ValueError, TypeError), match="must be a"):
        make()


@pytest.mark.parametrize("replicas", [1, 3, 7])
@pytest.mark.parametrize("length", [1, 10, 21])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_covers_the_data_set(replicas, length, shuffle, drop_last):
    parts = [
        list(DistributedSampler(range(length), replicas, rank, shuffle=shuffle, drop_last=drop_last))
        for rank in range(replicas)
    ]
    want = length // replicas if drop_last else -(-length // replicas)
    assert [len(p) for p in parts] == [want] * replicas
    drawn = sorted(i for p in parts for i in p)
    assert len(set(drawn)) == (want * replicas if drop_last else length)


def test_distributed_epochs_and_ranks():
    samplers = [DistributedSampler(range(20), 2, rank, seed=1) for rank in range(2)]
    first = [list(s) for s in samplers]
    assert not set(first[0]) & set(first[1]) and list(samplers[0]) == first[0]
    for s in samplers:
        s.set_epoch(1)
    assert list(samplers[0]) != first[0] and not set(samplers[0]) & set(samplers[1])
    with pytest.raises(ValueError, match="rank in"):
        DistributedSampler(range(4), 2, 2)
    with pytest.raises(ValueError, match="init_process_group has not been called"):
        DistributedSampler(range(4))
