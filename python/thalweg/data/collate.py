"""From samples to a batch: tensors are stacked, numbers become tensors, containers keep their shape."""

import collections.abc
import copy

import numpy as np

import thalweg as tw


def default_convert(data):
    """Turns NumPy arrays and scalars inside containers into tensors, and leaves the rest as it is."""
    if isinstance(data, tw.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if _is_text(data.dtype) else tw.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _same_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _same_sequence(data, [default_convert(value) for value in data])
    return data


def default_collate(batch):
    """Makes a batch of a list of samples of one kind.

    Tensors and arrays of equal shapes are stacked along a new first dim; floats become a float64 tensor, ints an
    int64 tensor; strings stay a list; dicts, tuples and lists are collated element by element.

    >>> default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
    {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    first = batch[0]
    if isinstance(first, tw.Tensor):
        return tw.stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        if _is_text(first.dtype):
            raise TypeError(f"default_collate: arrays of numbers are wanted, got dtype {first.dtype}")
        return tw.stack([tw.as_tensor(array) for array in batch], 0)
    if isinstance(first, np.generic) and not _is_text(first.dtype):
        return tw.as_tensor(np.asarray(batch))
    if isinstance(first, float):
        return tw.tensor(batch, dtype=tw.float64)
    if isinstance(first, int):
        return tw.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    return _collate_container(batch, first)


def _collate_container(batch, first):
    if isinstance(first, collections.abc.Mapping):
        return _same_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if _is_namedtuple(first):
        return type(first)(*(default_collate(values) for values in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        sizes = {len(sample) for sample in batch}
        if len(sizes) > 1:
            raise ValueError(f"default_collate: samples of one length are wanted, got lengths {sorted(sizes)}")
        collated = [default_collate(values) for values in zip(*batch)]
        return collated if isinstance(first, tuple) else _same_sequence(first, collated)
    raise TypeError(
        "default_collate: samples of tensors, arrays, numbers, strings, dicts, tuples or lists are wanted, "
        f"got {type(first).__name__}; give the loader a collate_fn"
    )


def _is_text(dtype):
    return dtype.kind in "OSUV"


def _is_namedtuple(data):
    return isinstance(data, tuple) and hasattr(data, "_fields")


def _same_mapping(original, items):
    """The items as a mapping of the original's type, or a dict where that type cannot be filled."""
    if type(original) is dict:
        return items
    try:
        clone = copy.copy(original)
        clone.update(items)
        return clone
    except (AttributeError, TypeError):
        return items


def _same_sequence(original, items):
    """The items as a sequence of the original's type, or a list where that type cannot be filled."""
    if type(original) is list:
        return items
    try:
        clone = copy.copy(original)
        for i, item in enumerate(items):
            clone[i] = item
        return clone
    except TypeError:
        return items
