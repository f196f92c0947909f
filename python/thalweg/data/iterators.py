"""The two iterators of a DataLoader: in this process, and over a pool of workers."""

import itertools

from thalweg.data.fetch import make_fetcher
from thalweg.data.pool import WorkerPool
from thalweg.data.sampler import draw_seed
from thalweg.data.worker import Job


def _job_of(loader, base_seed):
    return Job(
        dataset=loader.dataset,
        collate_fn=loader.collate_fn,
        auto_collation=loader._auto_collation,
        drop_last=loader.drop_last,
        iterable=loader._iterable,
        init_fn=loader.worker_init_fn,
        num_workers=loader.num_workers,
        base_seed=base_seed,
    )


class SingleProcessIterator:
    """Makes each batch when it is asked for."""

    def __init__(self, loader):
        # Drawn whatever the number of workers, so that the order does not depend on it.
        base_seed = draw_seed(loader.generator)
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        self._fetch = make_fetcher(_job_of(loader, base_seed))

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        return self._fetch(next(self._indices))


class WorkerIterator:
    """Hands tasks to workers in turn, keeps `prefetch_factor` a worker under way, and yields batches in order.

    A task's number is its place in the order. Answers that arrive early wait in `_done`.
    """

    def __init__(self, loader):
        base_seed = draw_seed(loader.generator)
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        if loader._pool is not None:
            self._pool = loader._pool
        else:
            self._pool = WorkerPool(_job_of(loader, base_seed), loader.multiprocessing_context)
            loader._pool = self._pool if loader.persistent_workers else None
        # Answers of an epoch that was left early are told by its number, and dropped.
        self._pool.epoch += 1
        self._epoch = self._pool.epoch
        self._active = [True] * self._pool.size
        self._turn = itertools.cycle(range(self._pool.size))
        self._owner = {}  # task under way -> worker
        self._done = {}  # task answered but not yielded -> (kind, value)
        self._sent = self._next = 0
        self._exhausted = self._finished = False
        for _ in range(loader.prefetch_factor * self._pool.size):
            self._hand_out()

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        if self._finished:
            raise StopIteration
        if self._pool.epoch != self._epoch:
            raise RuntimeError("DataLoader: a newer iterator of this loader has taken over its persistent workers")
        while True:
            answer = self._next_answer()
            if answer is None:
                self._finish()
                raise StopIteration
            kind, value = answer
            if kind != "end":
                break
        self._hand_out()
        if kind == "error":
            value.reraise()
        return value

    def _next_answer(self):
        """The answer that is next to be yielded, or None after the last."""
        while self._owner or self._done:
            if self._loader.in_order and self._next in self._done:
                self._next += 1
                return self._done.pop(self._next - 1)
            if not self._loader.in_order and self._done:
                return self._done.pop(next(iter(self._done)))
            self._wait()
        return None

    def _wait(self):
        """Takes in one answer."""
        try:
            worker, (epoch, number, kind, value) = self._pool.receive(self._loader.timeout)
        except RuntimeError:
            self._loader._pool = None
            self._finish()
            raise
        if epoch != self._epoch:
            return
        del self._owner[number]
        if kind == "end" and self._active[worker]:
            self._active[worker] = False
            self._hand_out()  # another worker takes the ended one's share of what is under way
        self._done[number] = (kind, value)

    def _hand_out(self):
        """Gives the next task to the next worker whose stream has not ended."""
        if self._exhausted or not any(self._active):
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            self._exhausted = True
            return
        worker = next(w for w in self._turn if self._active[w])
        self._owner[self._sent] = worker
        self._pool.send(worker, (self._epoch, self._sent, indices))
        self._sent += 1

    def _finish(self):
        self._finished = True
        self._indices = None
        if self._loader._pool is not self._pool:
            self._pool.close()
