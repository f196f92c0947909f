"""Ops whose indices are arbitrary among equal elements: judged by what their indices point at.

torch sorts with other algorithms for other sizes and dtypes, and promises an order of equal elements only for
stable=True; there the indices are compared as they are.
"""

import numpy as np

from .compare import compare, compare_tensor
from .convert import to_numpy
from .draws import argument

# name: (the place of dim among the arguments after the input, whether an index may appear only once along dim)
_PLACES = {"sort": (0, True), "argsort": (0, True), "topk": (1, True), "kthvalue": (1, False), "mode": (0, False)}


def apply(name, sample):
    return name in _PLACES and not sample.kwargs.get("stable", False)


def agree(name, sample, want, got):
    """None, or what differs: values as torch's, indices in range that point at them, each once where that is due."""
    pair = not hasattr(want, "dtype")
    message = compare(want, got, values=False)
    if message:
        return message
    if pair:
        message = compare_tensor(want[0], got[0])
        if message:
            return message
    place, once = _PLACES[name]
    dim = argument(sample, place, "dim", -1)
    ours, theirs = (
        _pointed(sample.input, x[1] if pair else x, dim if isinstance(dim, int) else -1, once) for x in (got, want)
    )
    if isinstance(ours, str):
        return ours
    same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
    return None if same.all() else "value: the indices point at other values than torch's"


def _pointed(input, indices, dim, once):
    """The elements of the input that the indices name, or a sentence."""
    values, places = np.atleast_1d(to_numpy(input)), np.atleast_1d(to_numpy(indices))
    if places.ndim < values.ndim or input.ndim == 0:
        places = places.reshape([n if d != dim % values.ndim else 1 for d, n in enumerate(values.shape)])
    if ((places < 0) | (places >= values.shape[dim])).any():
        return "value: an index out of range"
    if once and (np.diff(np.sort(places, dim), axis=dim) == 0).any():
        return "value: an index appears twice"
    return np.take_along_axis(values, places, dim)
