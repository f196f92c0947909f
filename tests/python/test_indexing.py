"""Random basic, advanced and boolean indexing, reading and writing, against NumPy."""

import numpy as np
import thalweg as tw
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


def numbered(shape):
    return np.arange(float(np.prod(shape, dtype=int))).reshape(shape)


@st.composite
def basic_items(draw, shape):
    """Ints, slices of positive step, None and at most one Ellipsis for a prefix of the dims."""
    items = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        kinds = ["slice", "int"] if size else ["slice"]
        if draw(st.sampled_from(kinds)) == "int":
            items.append(draw(st.integers(-size, size - 1)))
        else:
            bound = st.none() | st.integers(-6, 6)
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.append(Ellipsis)
    return tuple(items)


@st.composite
def advanced_items(draw, shape):
    """Arrays of integers that broadcast together, masks and slices. No ints: there NumPy and PyTorch differ."""
    common = draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    items, dim = [], 0
    masked = False
    while dim < len(shape):
        kind = draw(st.sampled_from(["slice", "index", "mask", "stop"]))
        if kind == "stop":
            break
        if kind == "mask" and not masked and not any(isinstance(i, np.ndarray) for i in items):
            rank = draw(st.integers(1, len(shape) - dim))
            bits = draw(st.lists(st.booleans(), min_size=(n := int(np.prod(shape[dim : dim + rank]))), max_size=n))
            items.append(np.array(bits, dtype=bool).reshape(shape[dim : dim + rank]))
            dim, masked = dim + rank, True
            common = draw(st.sampled_from([(1,), (int(sum(bits)),)]))
            continue
        size = shape[dim]
        if kind == "slice" or size == 0:
            items.append(slice(draw(st.none() | st.integers(-4, 4)), None))
        else:
            own = tuple(1 if draw(st.booleans()) and not masked else n for n in common) or (1,)
            count = int(np.prod(own))
            values = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
            items.append(np.array(values, dtype=np.int64).reshape(own))
        dim += 1
    return tuple(items)


def as_index(items):
    return tuple(tw.tensor(i) if isinstance(i, np.ndarray) else i for i in items)


def check_reading_and_writing(shape, items):
    array = numbered(shape)
    tensor = tw.tensor(array)
    np.testing.assert_array_equal(tensor[as_index(items)].numpy(), array[items])
    expected = array.copy()
    expected[items] = -1.0
    tensor[as_index(items)] = -1.0
    np.testing.assert_array_equal(tensor.numpy(), expected)


def check_gradient(shape, items):
    array = numbered(shape)
    weight = numbered(array[items].shape) + 1
    tensor = tw.tensor(array, requires_grad=True)
    (tensor[as_index(items)] * tw.tensor(weight)).sum().backward()
    expected = np.zeros(shape)
    np.add.at(expected, items, weight)
    np.testing.assert_array_equal(tensor.grad.numpy(), expected)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_basic_indexing(data):
    shape = data.draw(SHAPES)
    items = data.draw(basic_items(shape))
    check_reading_and_writing(shape, items)
    check_gradient(shape, items)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_advanced_indexing(data):
    shape = data.draw(SHAPES)
    items = data.draw(advanced_items(shape))
    check_reading_and_writing(shape, items)
    check_gradient(shape, items)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_assigned_values_broadcast_and_keep_the_last(data):
    shape = data.draw(SHAPES)
    items = data.draw(advanced_items(shape) | basic_items(shape))
    array = numbered(shape)
    places = array[items].shape
    values = -1 - numbered(tuple(1 if data.draw(st.booleans()) else n for n in places))
    expected, tensor = array.copy(), tw.tensor(array)
    expected[items] = values
    tensor[as_index(items)] = tw.tensor(values)
    np.testing.assert_array_equal(tensor.numpy(), expected)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_strided_tensors_index_alike(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple))
    items = data.draw(advanced_items(shape[::-1]))
    array = numbered(shape).T
    tensor = tw.tensor(numbered(shape)).permute(tuple(range(len(shape)))[::-1])
    np.testing.assert_array_equal(tensor[as_index(items)].numpy(), array[items])
    expected = array.copy()
    expected[items] = -1
    tensor[as_index(items)] = -1
    np.testing.assert_array_equal(tensor.numpy(), expected)


def test_ints_beside_arrays_select_first_as_in_pytorch():
    x = tw.zeros(2, 3, 4)
    assert x[0, :, tw.tensor([1, 2])].shape == (3, 2)
    assert x[tw.tensor(1), :, [1, 2, 3]].shape == (3, 3)


def test_bools_add_a_dim():
    x = tw.arange(3)
    assert x[True].tolist() == [[0, 1, 2]]
    assert x[False].shape == (0, 3)
    assert x[tw.tensor(True)].tolist() == [[0, 1, 2]]
    x[False] = 9
    assert x.tolist() == [0, 1, 2]


def test_lists_and_tuples():
    x = tw.arange(6).view(2, 3)
    assert x[[0, 1], [1, 2]].tolist() == [1, 5]
    assert x[[[0, 1]]].shape == (1, 2, 3)
    assert x[[]].shape == (0, 3)
    assert x[:, [True, False, True]].tolist() == [[0, 2], [3, 5]]


def test_a_failed_write_changes_nothing():
    x = tw.arange(6.0)
    for index in ([0, 6], [0, -7]):
        try:
            x[index] = 9
        except IndexError as error:
            assert "out of bounds" in str(error)
        else:
            raise AssertionError("an index out of range was taken")
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
