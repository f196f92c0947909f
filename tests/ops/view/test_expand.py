import numpy as np
import pytest
import thalweg as tw
from harness import check, sample
from thalweg._registry import ops


@pytest.mark.parametrize(
    ("shape", "to"),
    [((3, 1), (3, 5)), ((1, 4), (5, -1)), ((3,), (5, 3)), ((), (2, 3)), ((2, 1, 3), (4, 2, 5, 3)), ((1, 0), (3, 0))],
    ids=str,
)
def test_shapes_and_signatures(shape, to):
    def reference(x, to):
        sizes = [x.shape[i - len(to)] if n == -1 else n for i, n in enumerate(to)]
        return np.broadcast_to(x, sizes)

    check(ops.expand, reference, [sample(shape, list(to))])


def test_every_dim_may_be_cut():
    layouts = ops.expand.signatures(tw.zeros(3, 1), [5, 3, 7])
    assert [o for _, (o,) in layouts if o[0] == "S"] == [("S", 0, 1), ("S", 1, 1), ("S", 2, 1)]
    assert [i for (i,), _ in layouts] == [("B",), ("S", 0, 1), ("B",), ("P", "sum"), ("P", "max"), ("P", "min")]
