"""Views and in-place ops in random sequences: values against NumPy, gradients against the same steps out of place."""

import math

import numpy as np
import pytest
import thalweg as tw
from hypothesis import given, settings
from hypothesis import strategies as st

# Each view: its name, tensor form, NumPy form; None where the shape does not allow it.
VIEWS = {
    "transpose": (lambda x: x.transpose(0, -1), lambda a: a.swapaxes(0, -1)),
    "row": (lambda x: x[0], lambda a: a[0, ...]),
    "tail": (lambda x: x[1:], lambda a: a[1:]),
    "every other": (lambda x: x[..., ::2], lambda a: a[..., ::2]),
    "diagonal": (lambda x: x.diagonal(0, 0, -1), lambda a: diagonal(a)),
    "unsqueeze": (lambda x: x.unsqueeze(-1), lambda a: a[..., None]),
    "flip of dims": (lambda x: x.permute(list(range(x.ndim))[::-1]), lambda a: a.T),
    "half": (lambda x: x.chunk(2, -1)[0], lambda a: a[..., : -(-a.shape[-1] // 2)]),
}
NEEDED_RANK = {"diagonal": 2, "transpose": 1, "row": 1, "tail": 1, "every other": 1, "half": 1}


def diagonal(a):
    """A writable view of the diagonal of the first and last dims."""
    n = min(a.shape[0], a.shape[-1])
    return np.lib.stride_tricks.as_strided(a, a.shape[1:-1] + (n,), a.strides[1:-1] + (a.strides[0] + a.strides[-1],))


def fits(name, array):
    return array.ndim >= NEEDED_RANK.get(name, 0) and array.size > 0


PATHS = st.lists(st.sampled_from(sorted(VIEWS)), max_size=3)
WRITES = st.sampled_from(["mul", "add", "fill", "copy", "zero"])


def write_array(view, kind, number):
    if kind == "mul":
        view *= number
    elif kind == "add":
        view += number
    elif kind == "fill":
        view[...] = number
    elif kind == "copy":
        view[...] = np.arange(float(view.size)).reshape(view.shape)
    else:
        view[...] = 0


def write_tensor(view, kind, number):
    if kind == "mul":
        view.mul_(number)
    elif kind == "add":
        view.add_(number)
    elif kind == "fill":
        view[...] = number
    elif kind == "copy":
        view.copy_(tw.arange(float(view.numel()), dtype=tw.float64).reshape(view.shape))
    else:
        view[...] = 0


def take_view(x, array, path):
    for name in path:
        if not fits(name, array):
            continue
        x, array = VIEWS[name][0](x), VIEWS[name][1](array)
    return x, array


STEPS = st.lists(st.tuples(PATHS, WRITES, st.floats(-2, 2)), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), STEPS)
def test_writes_through_views_reach_the_base(shape, steps):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    tensor = tw.tensor(array)
    for path, kind, number in steps:
        view, part = take_view(tensor, array, path)
        np.testing.assert_array_equal(view.numpy(), part)
        write_array(part, kind, number)
        write_tensor(view, kind, number)
        np.testing.assert_array_equal(tensor.numpy(), array)


def sensitivity(shape, steps):
    """What each input element contributes to each output element: every write here is affine, element by element."""
    slope = np.ones(shape)
    for path, kind, number in steps:
        _, part = take_view(tw.zeros(shape), slope, path)
        if kind == "mul":
            part *= number
        elif kind != "add":
            part[...] = 0
    return slope


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), STEPS, PATHS)
def test_gradients_pass_through_writes(shape, steps, read):
    start = np.arange(float(np.prod(shape))).reshape(shape)
    leaf = tw.tensor(start, requires_grad=True)
    tensor, array = leaf * 1, start.copy()
    old_views = []
    for path, kind, number in steps:
        view, part = take_view(tensor, array, path)
        write_array(part, kind, number)
        write_tensor(view, kind, number)
        old_views.append((view, part))
    seen, part = take_view(tensor, array, read)
    weight = np.random.default_rng(0).normal(size=seen.shape)
    outer = np.zeros(shape)
    take_view(tw.zeros(shape), outer, read)[1][...] = weight
    loss = (seen * tw.tensor(weight)).sum()
    for view, part in old_views:  # views taken before later writes see them, in value and in gradient
        np.testing.assert_array_equal(view.detach().numpy(), part)
    loss.backward()
    np.testing.assert_allclose(leaf.grad.numpy(), outer * sensitivity(shape, steps))


def test_an_old_view_gets_the_history_of_a_later_write():
    leaf = tw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = leaf * 1
    old = base[1:]
    base.mul_(2)
    old[0] = 0
    old.sum().backward()
    assert leaf.grad.tolist() == [0, 0, 2]


def test_writing_a_tensor_with_history():
    leaf, other = tw.ones(3, requires_grad=True), tw.tensor(5.0, requires_grad=True)
    x = leaf * 2
    x[1] = other * 3
    (x * tw.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert leaf.grad.tolist() == [2, 0, 200]
    assert other.grad.item() == 30


def test_expanded_tensors_are_not_written_twice():
    angle = tw.tensor(math.pi / 4).expand(3)
    assert angle.cos().numpy() == pytest.approx([math.sqrt(0.5)] * 3)
    with pytest.raises(RuntimeError, match="cos"):
        angle.cos_()
    square = tw.ones(2, 2).expand(2, 2, 2)
    mask = tw.tensor([True, False])
    assert square.masked_fill(mask, 7).tolist() == [[[7, 1], [7, 1]]] * 2
    with pytest.raises(RuntimeError, match="masked_fill"):
        square.masked_fill_(mask, 7)
    with pytest.raises(RuntimeError):
        square[0] = tw.zeros(2, 1).expand(2, 2)  # the read side may be expanded, the base may not
        square[:, 0] = 1


def test_leaves_that_need_gradients_are_not_written():
    leaf = tw.ones(3, requires_grad=True)
    for write in (lambda: leaf.mul_(2), lambda: leaf[0].mul_(2), lambda: leaf.__setitem__(0, 1.0)):
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    with tw.no_grad():
        leaf[0] = 5
    assert leaf.tolist() == [5, 1, 1]


def test_a_saved_tensor_that_was_written_is_noticed():
    x = tw.ones(3, requires_grad=True) * 2
    y = x * x
    x[0] = 7
    with pytest.raises(RuntimeError, match="in-place"):
        y.sum().backward()


def test_views_in_place_change_shape_and_history():
    leaf = tw.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    x = leaf * 1
    assert x.t_() is x
    assert x.shape == (3, 1)
    x.squeeze_(1).unsqueeze_(0).transpose_(0, 1)
    (x * tw.tensor([[1.0], [10.0], [100.0]])).sum().backward()
    assert leaf.grad.tolist() == [[1, 10, 100]]
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.t_()


def test_resize_keeps_what_fits():
    x = tw.arange(6)
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(8)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert x.resize_as_(tw.zeros(1, 3)).tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("path", ["transposed", "offset", "expanded"])
def test_gradient_of_as_strided_knows_the_layout_of_its_input(path):
    leaf = tw.arange(6.0, dtype=tw.float64).view(2, 3).requires_grad_()

    def window(leaf):
        x = leaf * 1
        if path == "transposed":
            return x.t().as_strided((2, 2), (3, 1))
        if path == "offset":
            return x[1:].as_strided((2,), (2,), 3)
        return x[:1].expand(4, 3).as_strided((3,), (1,))

    assert tw.autograd.gradcheck(window, [leaf])


def test_writes_to_views_of_tensors_in_another_memory_order():
    leaf = tw.arange(6.0, dtype=tw.float64).view(2, 3).requires_grad_()

    def write(leaf):
        x = tw.empty_strided((2, 3), (1, 2), dtype=tw.float64)
        x.copy_(leaf)
        before = x[1]
        x[:, 1].mul_(leaf[:, 0])
        return before, x

    assert tw.autograd.gradcheck(write, [leaf])
