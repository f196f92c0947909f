"""Local to global and back: which elements each device gets, what is shared, how gradients travel."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import thalweg as tw

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
LINE = tw.placement("cpu", [0, 1, 2, 3])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])
LAYOUTS = [
    *((LINE, (s,)) for s in (S(0), S(1), S(0, unit=3), S(1, sizes=(1, 0, 3, 1)), B, P, tw.sbp.partial_max)),
    *((MESH, pair) for pair in itertools.product((S(0), S(1), B, P), repeat=2)),
]


def whole():
    return tw.arange(35, dtype=tw.float32).reshape(7, 5) - 10


@pytest.mark.parametrize("where, how", LAYOUTS)
def test_whole_and_back(where, how):
    g = whole().to_global(where, how)
    assert g.is_global and not g.is_local and g.placement == where and g.sbp == how and g.shape == (7, 5)
    np.testing.assert_array_equal(g.numpy(), whole().numpy())
    assert g.sum().item() == whole().sum().item()
    assert g.tolist() == whole().tolist()


@pytest.mark.parametrize("end", LAYOUTS)
@pytest.mark.parametrize("start", LAYOUTS)
def test_every_layout_from_every_other(start, end):
    g = whole().to_global(*start).to_global(*end)
    assert (g.placement, g.sbp) == end
    np.testing.assert_array_equal(g.numpy(), whole().numpy())


def test_parts_hold_what_the_layout_says():
    parts = whole().to_global(MESH, [S(0), S(1)]).to_local()
    assert [tuple(part.shape) for part in parts] == [(4, 3), (4, 2), (3, 3), (3, 2)]
    np.testing.assert_array_equal(parts[2].numpy(), whole().numpy()[4:, :3])
    parts = whole().to_global(LINE, S(0, sizes=(0, 7, 0, 0))).to_local()
    assert [len(part) for part in parts] == [0, 7, 0, 0]
    with pytest.raises(tw.PlacementError, match="states"):
        whole().to_global(LINE, S(0, sizes=(1, 1, 1, 1)))


def test_parts_in_a_list():
    parts = [tw.full((2, 3), float(i)) for i in range(4)]
    g = tw.local_to_global(parts, LINE, S(0))
    assert g.shape == (8, 3) and g.numpy()[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert tw.local_to_global(parts, LINE, P).numpy().tolist() == [[6, 6, 6], [6, 6, 6]]
    both = tw.local_to_global(parts, MESH, [S(1), S(0)])
    assert both.shape == (4, 6)
    assert both.numpy()[:, 0].tolist() == [0, 0, 1, 1]
    with pytest.raises(tw.PlacementError, match="4 parts"):
        tw.local_to_global(parts[:2], LINE, S(0))
    with pytest.raises(tw.PlacementError, match="shape"):
        tw.local_to_global([*parts[:3], tw.zeros(3, 3)], LINE, B)
    with pytest.raises(tw.PlacementError, match="their values differ"):
        tw.local_to_global(parts, LINE, B, check_meta="values")
    with pytest.raises(TypeError):
        tw.local_to_global([*parts[:3], tw.zeros(2, 3, dtype=tw.int64)], LINE, S(0))


def test_what_needs_no_move_is_itself():
    g = whole().to_global(LINE, S(0))
    assert g.to_global(sbp=S(0)) is g and g.to_global(placement=LINE) is g and g.to_global(LINE, S(-2)) is g
    assert g.to_global(sbp=S(0), copy=True) is not g


def test_a_local_tensor_needs_both():
    with pytest.raises(ValueError, match="placement and an sbp"):
        whole().to_global(LINE)
    with pytest.raises(RuntimeError, match="a global tensor is wanted"):
        whole().to_local()
    with pytest.raises(RuntimeError, match="a global tensor is wanted"):
        whole().placement  # noqa: B018


def test_memory_cannot_be_reached():
    g = whole().to_global(LINE, S(0))
    with pytest.raises(RuntimeError, match="no memory of its own"):
        g.data_ptr()


def test_printing_shows_the_whole_and_the_layout():
    text = repr(tw.arange(4).to_global(LINE, S(0)))
    assert text == (
        'tensor([0, 1, 2, 3], placement=placement(type="cpu", ranks=[0, 1, 2, 3]), sbp=(sbp.split(0),), size=(4,))'
    )


def test_pickle_and_deepcopy_keep_the_layout():
    g = whole().to_global(MESH, [S(0), B]).requires_grad_()
    for other in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert other.requires_grad and other.placement == MESH and other.sbp == (S(0), B)
        np.testing.assert_array_equal(other.detach().numpy(), whole().numpy())
        with tw.no_grad():
            other.zero_()
    np.testing.assert_array_equal(g.detach().numpy(), whole().numpy())


@pytest.mark.parametrize("where, how", LAYOUTS)
def test_gradient_of_to_global_is_that_of_the_identity(where, how):
    x = whole().requires_grad_()
    weights = tw.arange(35, dtype=tw.float32).reshape(7, 5)
    (x.to_global(where, how) * weights.to_global(where, [B] * where.ndim)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), weights.numpy())
    assert x.grad.is_local


def test_gradient_lies_as_asked():
    x = whole().to_global(LINE, S(0)).requires_grad_()
    y = x.to_global(sbp=B, grad_sbp=P)
    seen = []
    x.register_hook(lambda g: seen.append(g.sbp))
    y.sum().backward()
    assert seen == [(P,)] and x.grad.sbp == (S(0),)
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((7, 5)))


def test_gradient_of_to_local():
    x = whole().to_global(LINE, S(0)).requires_grad_()
    parts = x.to_local()
    sum((i + 1) * part.sum() for i, part in enumerate(parts)).backward()
    assert x.grad.numpy()[:, 0].tolist() == [1, 1, 2, 2, 3, 3, 4]
    x = whole().to_global(LINE, B).requires_grad_()
    sum((i + 1) * part.sum() for i, part in enumerate(x.to_local())).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((7, 5), 10.0))


def test_gradient_of_parts():
    parts = [tw.full((2,), float(i), requires_grad=True) for i in range(4)]
    g = tw.local_to_global(parts, LINE, S(0))
    (g * tw.arange(8.0, placement=LINE, sbp=S(0))).sum().backward()
    assert [part.grad.tolist() for part in parts] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_second_order_through_boxing():
    x = tw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.to_global(LINE, S(0))
    z = (y * y * y.to_global(sbp=B)).sum()
    (first,) = tw.autograd.grad(z, x, create_graph=True)
    first.sum().backward()
    np.testing.assert_allclose(first.detach().numpy(), [3.0, 12.0, 27.0])
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 12.0, 18.0])
