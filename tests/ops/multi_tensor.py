"""What the tests of optimizer steps share: an op on lists of tensors against a NumPy rule for one tensor.

A rule takes (param, grad, *states) and gives (param, *states). Checked: both full dtypes, half parameters with float32
state, strided and empty tensors, several chunks, any number of threads, every SBP signature shard by shard, versions.
With THALWEG_TEST_DEVICE all of that happens on that device.
"""

from collections.abc import Callable, Sequence

import numpy as np
import thalweg as tw
from on_device import DEVICE

SHAPES = [(3, 4), (0,), (), (5000,), (2, 1025)]
# Tolerance and the dtypes of parameters and of state.
DTYPES = {
    "float64": (1e-12, tw.float64, tw.float64),
    "float32": (2e-6, tw.float32, tw.float32),
    "half": (1e-2, tw.bfloat16, tw.float32),
    "all half": (2e-2, tw.float16, tw.float16),
    "wide state": (2e-6, tw.float32, tw.float64),
}

Arrays = list[list[np.ndarray]]


def place(tensor: tw.Tensor) -> tw.Tensor:
    """The tensor on the device that is tested."""
    return tensor.to(DEVICE or "cpu")


def values(tensor: tw.Tensor) -> np.ndarray:
    return tensor.cpu().double().numpy()


def lists_of(states: int, seed: int = 0) -> Arrays:
    """Parameters, gradients and positive states, an array for each shape."""
    rng = np.random.default_rng(seed)
    signed = [[rng.uniform(-2, 2, shape) for shape in SHAPES] for _ in range(2)]
    return signed + [[rng.uniform(0.1, 2, shape) for shape in SHAPES] for _ in range(states)]


def tensors_of(lists: Arrays, param_dtype: tw.dtype, state_dtype: tw.dtype, strided: bool = False) -> list:
    """Tensors of the arrays; strided ones lie with their dims reversed and every other element unused."""

    def convert(array: np.ndarray, dtype: tw.dtype) -> tw.Tensor:
        if not strided or array.ndim == 0:
            return place(tw.tensor(array).to(dtype))
        wide = np.zeros((*reversed(array.shape), 2))
        wide[..., 0] = array.T
        return place(tw.tensor(wide).to(dtype))[..., 0].permute(*reversed(range(array.ndim)))

    return [[convert(a, param_dtype if j < 2 else state_dtype) for a in arrays] for j, arrays in enumerate(lists)]


def expected(rule: Callable, lists: Arrays, take: Callable = lambda i: ()) -> Arrays:
    """The rule on every tensor: new parameters and states. take(i) gives more arguments for tensor i."""
    results = [rule(*arrays, *take(i)) for i, arrays in enumerate(zip(*lists))]
    return [list(column) for column in zip(*results)]


def assert_equal_lists(got: list, wanted: Arrays, tolerance: float, what: str) -> None:
    """Compares the written lists (all but the gradients)."""
    written = [got[0], *got[2:]]
    for j, (tensors, arrays) in enumerate(zip(written, wanted, strict=True)):
        for i, (tensor, array) in enumerate(zip(tensors, arrays, strict=True)):
            np.testing.assert_allclose(
                values(tensor), array, rtol=tolerance, atol=tolerance, err_msg=f"{what}, list {j}, tensor {i}"
            )


def check_step(call: Callable, rule: Callable, states: int, take: Callable = lambda i: (), shards: bool = True) -> None:
    """call(lists) runs the op on lists of tensors in place."""
    lists = lists_of(states)
    for name, (tolerance, param_dtype, state_dtype) in DTYPES.items():
        for strided in (False, True):
            tensors = tensors_of(lists, param_dtype, state_dtype, strided)
            rounded = [[values(t).copy() for t in column] for column in tensors]
            versions = [t._version for t in tensors[0]]
            call(tensors)
            assert_equal_lists(tensors, expected(rule, rounded, take), tolerance, f"{name}, strided={strided}")
            assert all(t._version > v for t, v in zip(tensors[0], versions))
            for grad, array in zip(tensors[1], rounded[1]):
                assert np.array_equal(values(grad), array)
    check_threads(call, lists)
    if shards:
        check_shards(call, lists)


def check_threads(call: Callable, lists: Arrays) -> None:
    """The bits are the same on one thread and on several."""
    before, results = tw.get_num_threads(), []
    for threads in (1, 3):
        tw.set_num_threads(threads)
        tensors = tensors_of([column * 20 for column in lists], tw.float32, tw.float32)
        call(tensors)
        results.append([values(t) for column in tensors for t in column])
    tw.set_num_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(*results))


def check_shards(call: Callable, lists: Arrays) -> None:
    """Tensors cut at any one dim give the pieces of the whole result; those without that dim stay whole."""
    whole = tensors_of(lists, tw.float64, tw.float64)
    call(whole)
    for dim in (0, 1):
        for piece in range(2):
            cut = [[np.array_split(a, 2, dim)[piece] if a.ndim > dim else a for a in column] for column in lists]
            part = tensors_of(cut, tw.float64, tw.float64)
            call(part)
            for column, wanted in zip(part, whole):
                for tensor, w in zip(column, wanted):
                    w = values(w)
                    w = np.array_split(w, 2, dim)[piece] if w.ndim > dim else w
                    assert np.allclose(values(tensor), w, rtol=1e-14, atol=1e-14)


def split_dims(signatures: Sequence) -> list[set]:
    """For each signature the dims at which its inputs are split."""
    return [{entry[1] for entry in inputs if entry[0] == "S"} for inputs, _ in signatures]
