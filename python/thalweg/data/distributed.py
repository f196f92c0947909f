"""The sampler that gives each rank of a job its own part of a data set."""

import math

import thalweg as tw
from thalweg import distributed as dist
from thalweg.data.sampler import Sampler, seeded_generator


class DistributedSampler(Sampler[int]):
    """Every rank visits its own `1 / num_replicas` of the data set, all the same number of samples.

    Where the length does not divide, samples from the start are repeated, or with `drop_last` the tail is left out.
    The order depends on `seed` and the epoch only, so that all ranks agree: call `set_epoch` before each epoch.

    num_replicas, rank: by default the number of processes of the job and the one of this process.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None:
            num_replicas = dist.get_world_size()
        if rank is None:
            rank = dist.get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(f"DistributedSampler: a rank in [0, {num_replicas}) is wanted, got {rank}")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        length = len(dataset)
        self.num_samples = length // num_replicas if drop_last else math.ceil(length / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        length = len(self.dataset)
        if self.shuffle:
            order = tw.randperm(length, generator=seeded_generator(self.seed + self.epoch)).tolist()
        else:
            order = list(range(length))
        if length and self.total_size > length:
            order = (order * math.ceil(self.total_size / length))[: self.total_size]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Changes the order; the same on every rank."""
        self.epoch = epoch
