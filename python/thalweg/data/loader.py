"""DataLoader: batches of a data set, in order, made here or in worker processes."""

import warnings
from typing import Generic, TypeVar

import thalweg as tw
from thalweg.data.collate import default_collate, default_convert
from thalweg.data.dataset import IterableDataset
from thalweg.data.iterators import SingleProcessIterator, WorkerIterator
from thalweg.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Endless(Sampler[None]):
    """Stands in for the sampler of a stream, which has no indices."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Iterates over a data set in batches.

    dataset: a Dataset (anything with `__getitem__` and `__len__`) or an IterableDataset.
    batch_size: samples a batch; None leaves samples as they are.
    shuffle: visit in random order, a new one each epoch.
    sampler, batch_sampler: iterables of indices, or of lists of indices, in place of `shuffle` (and of `batch_size`).
    num_workers: processes that make batches; 0 makes them here. Forked on Linux, so the data set is not copied.
    collate_fn: makes a batch of a list of samples, default `default_collate`.
    pin_memory: accepted; has an effect only where there is an accelerator.
    drop_last: leave out a last batch that is not full.
    timeout: seconds to wait for a batch of the workers; 0 waits for ever.
    worker_init_fn: called in each worker with its number, after seeding.
    multiprocessing_context: "fork", "spawn", "forkserver", or a context of `multiprocessing`.
    generator: draws the order and the workers' seeds; the same state gives the same batches and, in worker i, the
        random numbers of seed + i for `tw`, `random` and NumPy.
    prefetch_factor: batches each worker makes ahead, default 2.
    persistent_workers: keep the workers, and their copies of the data set, between epochs.
    in_order: False yields batches as they become ready.

    An exception in a worker is raised here with the worker's traceback; a worker that dies is a RuntimeError. Leaving
    a loop early, or the program, ends the workers.

    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    _ready = False

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        if pin_memory and not tw.cuda.is_available():
            warnings.warn("DataLoader: pin_memory=True has no effect, there is no accelerator", stacklevel=2)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._pool = None
        self._ready = True

    def _choose_samplers(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader: an IterableDataset sets its own order: no shuffle, sampler or batch_sampler")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler excludes shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: batch_size=None excludes drop_last: there are no batches")
        if sampler is None:
            if self._iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def __setattr__(self, name, value):
        if self._ready and name in _FIXED:
            raise ValueError(f"DataLoader: {name} cannot be changed after the loader is made")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self):
        if self.num_workers == 0:
            return SingleProcessIterator(self)
        return WorkerIterator(self)

    def __len__(self):
        """The number of batches; for a stream an estimate from the stream's own length."""
        if not self._iterable:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        full, rest = divmod(length, self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)

    def __getstate__(self):
        return {**self.__dict__, "_pool": None}  # processes belong to the loader that started them


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, context):
    if type(num_workers) is not int or num_workers < 0:
        raise ValueError(f"DataLoader: num_workers must be an int of at least 0, got {num_workers!r}")
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout must be at least 0, got {timeout}")
    if prefetch_factor is not None and (num_workers == 0 or prefetch_factor <= 0):
        raise ValueError(
            f"DataLoader: prefetch_factor must be positive and needs workers, got {prefetch_factor} with "
            f"num_workers={num_workers}"
        )
    if num_workers == 0 and persistent_workers:
        raise ValueError("DataLoader: persistent_workers needs num_workers > 0")
    if num_workers == 0 and context is not None:
        raise ValueError("DataLoader: multiprocessing_context needs num_workers > 0")
