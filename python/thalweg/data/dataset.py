"""Data sets: by index (`Dataset`) or as a stream (`IterableDataset`), and ways to combine them."""

import bisect
import itertools
import math
from typing import Generic, TypeVar

import thalweg as tw

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A data set whose samples are found by index or key.

    A subclass defines `__getitem__`, and `__len__` for most samplers. Where it defines `__getitems__(indices)` too,
    the loader fetches a batch in one call of it.
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"Dataset: {type(self).__name__} must define __getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A data set that is a stream of samples; a subclass defines `__iter__`.

    With several workers each one iterates over its own copy; `get_worker_info` tells which part is its own.
    """

    def __iter__(self):
        raise NotImplementedError(f"IterableDataset: {type(self).__name__} must define __iter__")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Samples are the slices of some tensors along their first dim, as a tuple.

    >>> TensorDataset(tw.zeros(10, 3), tw.arange(10))[4]
    (tensor([0., 0., 0.]), tensor(4))
    """

    def __init__(self, *tensors):
        if not tensors:
            raise ValueError("TensorDataset: at least one tensor is wanted, got none")
        shapes = [tuple(t.shape) for t in tensors]
        if () in shapes or len({shape[0] for shape in shapes}) > 1:
            raise ValueError(f"TensorDataset: the tensors' first dims must agree, got shapes {shapes}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class StackDataset(Dataset):
    """Samples are tuples (or dicts, for data sets given by name) of the samples of several data sets.

    >>> StackDataset(image=["a", "b"], label=[7, 8])[1]
    {'image': 'b', 'label': 8}
    """

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError(
                f"StackDataset: data sets are wanted either by position or by name, got {len(args)} and {len(kwargs)}"
            )
        self.datasets = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) > 1:
            raise ValueError(f"StackDataset: the data sets' lengths must agree, got {sorted(lengths)}")
        self._length = lengths.pop()

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices):
        if isinstance(self.datasets, dict):
            columns = [fetch_many(d, indices) for d in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*(fetch_many(d, indices) for d in self.datasets)))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Data sets one after the other; negative indices count from the end."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: at least one data set is wanted, got none")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError("ConcatDataset: a data set with indices is wanted, got an IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"ConcatDataset: an index in [{-len(self)}, {len(self)}) is wanted, got {index}")
        index = index + len(self) if index < 0 else index
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset):
    """Streams one after the other."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def __iter__(self):
        for dataset in self.datasets:
            self._check(dataset)
            yield from dataset

    def __len__(self):
        total = 0
        for dataset in self.datasets:
            self._check(dataset)
            total += len(dataset)
        return total

    @staticmethod
    def _check(dataset):
        if not isinstance(dataset, IterableDataset):
            raise TypeError(f"ChainDataset: an IterableDataset is wanted, got {type(dataset).__name__}")


class Subset(Dataset[T_co]):
    """The samples of a data set at the given indices."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        return fetch_many(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Splits a data set at random into subsets that do not overlap.

    lengths: numbers of samples that sum to `len(dataset)`, or fractions that sum to 1; what rounding leaves over
        goes one by one to the subsets, from the first.
    generator: of the permutation; None is the default generator.

    >>> [len(part) for part in random_split(range(10), [0.9, 0.1], tw.Generator().manual_seed(0))]
    [9, 1]
    """
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if any(not 0 <= fraction <= 1 for fraction in lengths):
            raise ValueError(f"random_split: fractions in [0, 1] are wanted, got {lengths}")
        lengths = [math.floor(len(dataset) * fraction) for fraction in lengths]
        for i in range(len(dataset) - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if any(int(n) != n or n < 0 for n in lengths) or sum(lengths) != len(dataset):
        raise ValueError(f"random_split: lengths that sum to {len(dataset)} are wanted, got {lengths}")
    order = tw.randperm(len(dataset), generator=generator).tolist()
    ends = itertools.accumulate(int(n) for n in lengths)
    return [Subset(dataset, order[end - int(n) : end]) for end, n in zip(ends, lengths)]


def fetch_many(dataset, indices):
    """The samples at `indices`, in one call where the data set can do that."""
    if callable(getattr(dataset, "__getitems__", None)):
        samples = dataset.__getitems__(indices)
        if len(samples) != len(indices):
            raise ValueError(f"__getitems__: {len(indices)} samples are wanted, got {len(samples)}")
        return samples
    return [dataset[i] for i in indices]
