"""Turning what a sampler yields into a batch."""

import itertools

from thalweg.data.dataset import fetch_many


def make_fetcher(job):
    """A function from what the sampler yields (an index, a list of indices) to a batch.

    job: has `dataset`, `collate_fn`, `auto_collation`, `drop_last`, `iterable`.
    For a stream the function ignores the indices, takes as many samples as there are, and raises StopIteration at
    the end.
    """
    if job.iterable:
        return _stream_fetcher(job, iter(job.dataset))
    if job.auto_collation:
        return lambda indices: job.collate_fn(fetch_many(job.dataset, indices))
    return lambda index: job.collate_fn(job.dataset[index])


def _stream_fetcher(job, stream):
    def fetch_batch(indices):
        samples = list(itertools.islice(stream, len(indices)))
        if not samples or (job.drop_last and len(samples) < len(indices)):
            raise StopIteration
        return job.collate_fn(samples)

    return fetch_batch if job.auto_collation else lambda _: job.collate_fn(next(stream))
