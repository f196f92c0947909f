import numpy as np
import pytest
import thalweg as tw
from harness import check, sample
from thalweg._registry import ops

# from, to: dims that join, split, stay, come and go; sizes that no device count divides; no elements.
SHAPES = [
    ((4, 6), (24,)),
    ((24,), (4, 6)),
    ((2, 3, 4), (6, 4)),
    ((6, 4), (2, 3, -1)),
    ((5, 2, 3), (5, 6)),
    ((1, 5), (5, 1)),
    ((6, 4), (4, 6)),
    ((2, 0, 3), (0, 6)),
    ((), (1, 1)),
]


@pytest.mark.parametrize(("shape", "to"), SHAPES, ids=str)
@pytest.mark.parametrize("op", [ops.reshape, ops.view], ids=["reshape", "view"])
def test_shapes_and_signatures(op, shape, to):
    if op is ops.reshape:
        check(op, lambda x, to: x.reshape(to), [sample(shape, list(to))])
    else:
        check(lambda x: op(x.contiguous(), to), lambda x: x.reshape(to), [sample(shape)])


def test_how_cut_dims_join_and_split():
    """Heads that lie side by side in a row are cut between heads; what would cut through one is not offered."""

    def splits(shape, to):
        return [(i, o) for (i,), (o,) in ops.reshape.signatures(tw.zeros(shape), to) if i[0] == "S"]

    assert splits((4, 6), (24,)) == [(("S", 0, 1), ("S", 0, 6))]
    assert splits((4, 6), (4, 2, 3)) == [(("S", 0, 1), ("S", 0, 1)), (("S", 1, 3), ("S", 1, 1))]
    assert splits((6, 4), (4, 6)) == [(("S", 0, 3), ("S", 0, 2))]
    assert splits((3, 4), (4, 3)) == []
    assert splits((4, 6), (1, 4, 6)) == [(("S", 0, 1), ("S", 1, 1)), (("S", 1, 1), ("S", 2, 1))]


def test_a_part_reshapes_to_its_own_sizes():
    x = tw.arange(24).reshape(4, 6)
    (part,) = ops.reshape.on_shard([x[:3]], [[0, 0]], [[18]], [[0]], x, [24])
    np.testing.assert_array_equal(part.numpy(), np.arange(18))
    with pytest.raises(ValueError, match="1 tensors are wanted, got 2"):
        ops.reshape.on_shard([x, x], [[0, 0]], [[24]], [[0]], x, [24])
    with pytest.raises(TypeError, match="on_shard"):
        ops.reshape.on_shard(x, [], [], [], [24])
