"""Parts of random tensors are pieces of what one device draws, wherever they are cut."""

import numpy as np
import pytest
import thalweg as tw
from parts import Axis, Mesh, boxes, join, spread
from sharded import Call, check_call
from thalweg._registry import ops

OPS = {
    "uniform": (),
    "normal": (1.0, 2.0),
    "log_normal": (),
    "exponential": (2.0,),
    "cauchy": (),
    "geometric": (0.3,),
    "random_integers": (-5, 1000),
    "dropout_of": (0.4,),
}
# Numbers that come from a function of the uniform bits: its rounding may depend on where in a vector they lie.
ROUNDED = {"normal", "log_normal", "exponential", "cauchy"}
# Sizes with runs that are short, longer than a block of words, and longer than a chunk of them.
SHAPES = [(5,), (6, 7), (3, 4, 5), (4, 700), (1030, 3), (2, 3, 600)]
MESHES: list[Mesh] = [(Axis(2),), (Axis(3, "hole"),), (Axis(2, "lopsided"), Axis(2))]


def drawn(op, args, x, layouts, mesh):
    """Output 0 (and the mask of dropout) of the whole, and of its parts joined."""
    call = Call(op, [x, *args], {})
    inputs = spread(x, layouts, mesh, np.random.default_rng(1))
    places = boxes(x.shape, layouts, mesh)
    parts = [
        call.run([part.tensor], [first], [sizes] * len(call.outputs), [first] * len(call.outputs))
        for part, (first, sizes) in zip(inputs, places)
    ]
    return [(join([p[i] for p in parts], layouts, mesh), whole) for i, whole in enumerate(call.outputs)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", OPS)
def test_parts_are_pieces_of_the_whole(name, shape):
    for dtype in (tw.float32, tw.float64, tw.bfloat16) if name != "random_integers" else (tw.int64, tw.uint8):
        x = tw.zeros(shape, dtype=dtype) + 1
        for mesh in MESHES:
            for dims in np.ndindex(*[len(shape)] * len(mesh)):
                for got, whole in drawn(getattr(ops, name), OPS[name], x, [("S", d, 1) for d in dims], mesh):
                    got, whole = (t.to(tw.float64).numpy() for t in (got, whole))
                    if name in ROUNDED:
                        np.testing.assert_allclose(got, whole, rtol=1e-2 if dtype == tw.bfloat16 else 1e-5, atol=1e-6)
                    else:
                        np.testing.assert_array_equal(got, whole)


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_complex_parts(name):
    x = tw.zeros((3, 301), dtype=tw.complex64)
    for dim in (0, 1):
        for got, whole in drawn(getattr(ops, name), (), x, [("S", dim, 1)], (Axis(2),)):
            np.testing.assert_allclose(got.numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)


def test_parts_in_other_orders_of_memory():
    """Draws go by the index in the whole, not by where an element lies."""
    whole = ops.dropout_of
    x = tw.ones(6, 8, 4).transpose(0, 2)
    for dim in range(3):
        for got, expected in drawn(whole, (0.5,), x, [("S", dim, 1)], (Axis(3),)):
            np.testing.assert_array_equal(got.numpy(), expected.numpy())


def test_rows_of_weights():
    weights = tw.arange(1, 41).reshape(5, 8).float()
    for replacement in (False, True):
        check_call(ops.multinomial, [weights, 3, replacement], {}, grad=False)


@pytest.mark.parametrize("name", OPS)
def test_every_dim_is_offered(name):
    x = tw.ones(4, 6) if name != "random_integers" else tw.ones(4, 6, dtype=tw.int64)
    signatures = getattr(ops, name).signatures(x, *OPS[name])
    assert [ins for ins, _ in signatures] == [[("S", 0, 1)], [("S", 1, 1)]]


def test_where_a_part_lies_is_no_argument():
    with pytest.raises(TypeError, match="no argument named _part"):
        tw.ones(3).uniform_(_part=[0.0, 3.0])
    assert "_part" not in ops.uniform.__doc__
