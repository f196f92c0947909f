"""Public bug reports of other frameworks about distributed tensors, as tests."""

import numpy as np
import pytest
import thalweg as tw

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
TWO, LINE = tw.placement("cpu", [0, 1]), tw.placement("cpu", [0, 1, 2, 3])


def test_uneven_split_gathers_without_padding():  # pytorch/pytorch#103306
    x = tw.arange(50.0).reshape(5, 10)
    for dim in (0, 1):
        back = x.to_global(LINE, B).to_global(sbp=S(dim)).to_global(sbp=B)
        for part in back.to_local():
            assert part.shape == (5, 10)
            np.testing.assert_array_equal(part.numpy(), x.numpy())


def test_blocks_of_other_sizes_are_refused_or_stated():  # pytorch/pytorch#144109
    blocks = [tw.arange(3.0).reshape(1, 3), tw.arange(3.0, 12.0).reshape(3, 3)]
    with pytest.raises(tw.PlacementError, match=r"\[2, 3\].*\[1, 3\]"):
        tw.local_to_global(blocks, TWO, S(0))
    x = tw.local_to_global(blocks, TWO, S(0, sizes=(1, 3)))
    np.testing.assert_array_equal(x.numpy(), np.arange(12.0).reshape(4, 3))


@pytest.mark.parametrize("shape", [(16, 32), (1, 3)])
def test_rows_plus_columns(shape):  # PaddlePaddle/Paddle#63798
    rng = np.random.default_rng(0)
    a, b = (tw.tensor(rng.normal(size=shape).astype("float32")) for _ in range(2))
    rows, columns = a.to_global(TWO, S(0)).requires_grad_(), b.to_global(TWO, S(1)).requires_grad_()
    result = rows + columns
    assert result.sbp in ((S(0),), (S(1),))
    np.testing.assert_array_equal(result.detach().numpy(), (a + b).numpy())
    (result * result).sum().backward()
    for leaf in (rows, columns):
        np.testing.assert_allclose(leaf.grad.numpy(), 2 * (a + b).numpy(), rtol=1e-6)


def test_a_number_is_added_once_to_a_pending_sum():  # pytorch/pytorch#149768
    rows = tw.local_to_global([tw.tensor([[1.0, 1.0]]), tw.tensor([[2.0, 2.0]])], TWO, S(0))
    for part in (rows.norm() + 1).to_global(sbp=B).to_local():
        assert part.item() == pytest.approx(np.sqrt(10) + 1)
    pending = tw.local_to_global([tw.tensor([1.0]), tw.tensor([2.0])], TWO, P)
    assert (pending + 1).item() == 4 and (1 - pending).item() == -2 and (pending * 2).item() == 6


def test_norms_are_not_taken_for_linear():  # pytorch/pytorch#172288
    rows = tw.local_to_global([tw.tensor([[3.0, 5.0]]), tw.tensor([[4.0, 12.0]])], TWO, S(0))
    assert rows.norm(dim=0).sum().item() == pytest.approx(18)


def test_backward_of_stack_keeps_the_order():  # Oneflow-Inc/oneflow#8194
    a, b = (tw.zeros(2, 2, placement=TWO, sbp=S(1), requires_grad=True) for _ in range(2))
    tw.stack([a, b], 0).backward(tw.arange(8.0).reshape(2, 2, 2).to_global(TWO, B))
    assert a.grad.tolist() == [[0, 1], [2, 3]] and b.grad.tolist() == [[4, 5], [6, 7]]


def test_draws_are_pieces_of_one():  # Oneflow-Inc/oneflow#8465, pytorch/pytorch#168058
    tw.manual_seed(5)
    alone = tw.randn(2, 3).numpy()
    for ranks in ([0], [0, 1], [0, 1, 2, 3]):
        for how in (B, S(0), S(1)):
            tw.manual_seed(5)
            x = tw.randn(2, 3, placement=tw.placement("cpu", ranks), sbp=how)
            np.testing.assert_allclose(x.numpy(), alone, rtol=1e-6)
            parts = x.to_local()
            if how == B and len(ranks) > 1:
                for part in parts:
                    np.testing.assert_array_equal(part.numpy(), parts[0].numpy())


def test_one_row_of_rows():  # Oneflow-Inc/oneflow#7020
    x = tw.arange(60.0).reshape(3, 4, 5)
    g = x.to_global(TWO, S(0))
    for index in (1, -1, slice(0, 2)):
        assert g[index].shape == x[index].shape
        np.testing.assert_array_equal(g[index].numpy(), x[index].numpy())
