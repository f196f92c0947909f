"""Samplers: the order in which a loader visits a data set."""

import itertools
from typing import Generic, TypeVar

import thalweg as tw

T_co = TypeVar("T_co", covariant=True)

# Draws with replacement are made in pieces, so that a huge `num_samples` costs no memory.
_DRAWS_AT_ONCE = 32


class Sampler(Generic[T_co]):
    """An iterable of indices; a subclass defines `__iter__`, and `__len__` where it is known."""

    def __iter__(self):
        raise NotImplementedError(f"Sampler: {type(self).__name__} must define __iter__")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random, each at most once in a round, or with `replacement` drawn independently.

    num_samples: how many to draw, default all. Without replacement and beyond the data set's length it makes several
        rounds, each a permutation of its own.
    generator: None takes a new one for every iteration, seeded from the default generator.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        _check_bool("RandomSampler", "replacement", replacement)
        if num_samples is not None:
            _check_count("RandomSampler", "num_samples", num_samples)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self):
        # Read late: the data set may grow between iterations.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        generator = self.generator if self.generator is not None else seeded_generator(draw_seed(None))
        size, count = len(self.data_source), self.num_samples
        if size == 0 and count:
            raise ValueError(f"RandomSampler: {count} samples are wanted of an empty data set")
        while count > 0:
            if self.replacement:
                now = min(count, _DRAWS_AT_ONCE)
                yield from tw.randint(0, size, (now,), dtype=tw.int64, generator=generator).tolist()
            else:
                now = min(count, size)
                yield from tw.randperm(size, generator=generator).tolist()[:now]
            count -= now

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in tw.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to weights, which need not sum to 1.

    >>> list(WeightedRandomSampler([0.0, 0.0, 5.0], 2))
    [2, 2]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("WeightedRandomSampler", "num_samples", num_samples)
        _check_bool("WeightedRandomSampler", "replacement", replacement)
        self.weights = tw.as_tensor(weights, dtype=tw.float64)
        if self.weights.dim() != 1:
            raise ValueError(f"WeightedRandomSampler: 1-d weights are wanted, got shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        yield from tw.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter unless `drop_last`.

    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("BatchSampler", "batch_size", batch_size)
        _check_bool("BatchSampler", "drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self):
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)


def draw_seed(generator):
    """A seed from `generator`, or from the default generator for None."""
    return int(tw.empty((), dtype=tw.int64).random_(generator=generator).item())


def seeded_generator(seed):
    generator = tw.Generator()
    generator.manual_seed(seed)
    return generator


def _check_count(who, name, value):
    if type(value) is not int or value <= 0:
        raise ValueError(f"{who}: {name} must be a positive int, got {value!r}")


def _check_bool(who, name, value):
    if not isinstance(value, bool):
        raise TypeError(f"{who}: {name} must be a bool, got {value!r}")
