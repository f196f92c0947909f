"""Ops on global tensors give what one device would, whatever the layout; views, writes and errors keep their rules."""

import numpy as np
import pytest
import thalweg as tw
from functions_of_two import FUNCTIONS, pair
from thalweg.nn import functional as F

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
LINE = tw.placement("cpu", [0, 1, 2, 3])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])
PLACES = [
    (LINE, (S(0),)), (LINE, (S(1),)), (LINE, (B,)), (LINE, (P,)), (LINE, (S(0, sizes=(5, 0, 1, 0)),)),
    (MESH, (S(0), S(1))), (MESH, (S(0), S(0))), (MESH, (S(1), B)), (MESH, (P, S(0))),
]  # fmt: skip


@pytest.mark.parametrize("where, how", PLACES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name, where, how):
    function = FUNCTIONS[name]
    local = [t.requires_grad_() for t in pair()]
    expected = function(*local)
    spread = [t.detach().to_global(where, how).requires_grad_() for t in local]
    found = function(*spread)
    assert found.is_global and found.placement == where and found.shape == expected.shape
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=2e-5, atol=2e-6)
    weights = tw.rand(expected.shape)
    (expected * weights).sum().backward()
    (found * weights.to_global(where, [B] * where.ndim)).sum().backward()
    for a, b in zip(local, spread, strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert b.grad.sbp == tuple(B if s == P else s for s in how)
            np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=2e-5, atol=2e-6)


def test_layouts_follow_from_where_inputs_lie():
    a, b = pair()
    rows, whole = a.to_global(LINE, S(0)), b.to_global(LINE, B)
    assert (rows + whole).sbp == (S(0),)
    assert (rows @ whole.t()).sbp == (S(0),)
    assert (whole @ rows.t()).sbp == (S(1),)
    columns = a.to_global(LINE, S(1))
    assert (columns @ b.to_global(LINE, S(1)).t()).sbp == (P,)
    assert rows.sum().sbp == (P,)
    assert (rows * 2 + 1).sbp == (S(0),)
    assert rows.softmax(-1).sbp == (S(0),)
    assert (whole + whole).sbp == (B,)


def test_heads_stay_whole():
    x = tw.arange(2 * 384, dtype=tw.float32).reshape(2, 384).to_global(LINE, S(1, unit=64))
    assert [part.shape[1] for part in x.to_local()] == [128, 128, 64, 64]
    heads = x.view(2, 6, 64)
    assert heads.sbp == (S(1),) and [part.shape[1] for part in heads.to_local()] == [2, 2, 1, 1]
    assert heads.reshape(2, 384).sbp == (S(1, unit=64),)
    np.testing.assert_array_equal(heads.numpy(), x.numpy().reshape(2, 6, 64))
    # 384 = 2 x 192 is cut at multiples of 64 already.
    two = x.to_global(tw.placement("cpu", [0, 1]), S(1))
    assert two.view(2, 6, 64).sbp == (S(1),)


def test_views_share_memory():
    x = pair()[0].to_global(LINE, S(0))
    turned = x.t()
    assert turned.sbp == (S(1),)
    turned.zero_()
    assert x.sum().item() == 0
    x[:, 2:4] = 7.0
    assert x.sum().item() == 6 * 2 * 7 and x.sbp == (S(0),)
    x.view(6, 2, 4).add_(1)
    assert x.sum().item() == 6 * 2 * 7 + 48


def test_a_view_that_breaks_the_cuts_is_a_copy_and_refuses_writes():
    x = pair()[0].to_global(LINE, S(0))
    part = x[0:2]
    np.testing.assert_array_equal(part.numpy(), x.numpy()[0:2])
    with pytest.raises(RuntimeError, match="had to be copied"):
        part.zero_()
    part.clone().zero_()


@pytest.mark.parametrize("where, how", PLACES)
def test_in_place_keeps_the_layout(where, how):
    a, b = pair()
    x = a.to_global(where, how)
    y = b.to_global(where, [B] * where.ndim)
    x.add_(y).mul_(2.0)
    x.clamp_(-1, 1)
    x.copy_(x * y)
    expected = ((a + b) * 2).clamp(-1, 1) * b
    assert x.sbp == how
    np.testing.assert_allclose(x.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_in_place_history():
    a, b = pair()
    x = a.to_global(LINE, S(0)).requires_grad_()
    y = x * 1
    y.mul_(b.to_global(LINE, B))
    y[:, 1:3].mul_(3.0)
    y.sum().backward()
    expected = b.numpy().copy()
    expected[:, 1:3] *= 3
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="in-place"):
        z.sum().backward()


def test_mixing_is_refused_by_name():
    a, b = pair()
    x = a.to_global(LINE, S(0))
    with pytest.raises(tw.PlacementError, match=r"add: .*input on cpu\[0, 1, 2, 3\] S\(0\) and other a local tensor"):
        x + b
    with pytest.raises(tw.PlacementError, match="placement"):
        x + b.to_global(tw.placement("cpu", [0, 1]), S(0))
    with pytest.raises(tw.PlacementError):
        b.add_(x)
    with pytest.raises(tw.PlacementError):
        tw.cat([x, b])


def test_indexing():
    a = pair()[0]
    x = a.to_global(LINE, S(0))
    rows = tw.tensor([4, 0, 4])
    np.testing.assert_array_equal(x[rows.to_global(LINE, B)].numpy(), a[rows].numpy())
    np.testing.assert_array_equal(x[[1, 2]].numpy(), a[[1, 2]].numpy())
    np.testing.assert_array_equal(x[x > 0].numpy(), a[a > 0].numpy())
    np.testing.assert_array_equal(x.nonzero().numpy(), a.nonzero().numpy())
    x[x < 0] = 0.0
    assert x.sbp == (S(0),) and x.min().item() == 0
    x[[0, 5]] = 1.0
    assert x[0].sum().item() == x[5].sum().item() == 8


def test_dtypes_and_numbers():
    x = tw.arange(6, placement=LINE, sbp=S(0))
    assert (x / 2).dtype == tw.float32 and (x + 0.5).dtype == tw.float32 and (x * 2).dtype == tw.int64
    assert x.float().sbp == (S(0),) and int(x.sum()) == 15 and bool((x >= 0).all())
    assert f"{x.float().mean():.1f}" == "2.5"
    with tw.autocast("cpu", dtype=tw.bfloat16):
        y = x.float().reshape(6, 1) @ x.float().reshape(1, 6)
    assert y.dtype == tw.bfloat16


def test_hooks_retain_and_grad_functions():
    x = pair()[0].to_global(LINE, S(0)).requires_grad_()
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    z = (y * y).sum()
    (g,) = tw.autograd.grad(z, x, retain_graph=True)
    assert g.is_global
    z.backward()
    np.testing.assert_allclose(x.grad.numpy(), g.numpy())
    assert y.grad.sbp == (S(0),)
    np.testing.assert_allclose(y.grad.numpy(), 3 * 2 * y.detach().numpy(), rtol=1e-6)
    kept = tw.checkpoint(lambda t: F.gelu(t) * 2, x)
    kept.sum().backward()


def test_devices_hold_their_own_memory():
    for device in range(4):
        tw.cpu.empty_cache(device)  # a larger block that is free may be lent, and counts whole
    before = [tw.cpu.memory_stats(i)["allocated_bytes"] for i in range(4)]
    x = tw.zeros(4 * 1024, 256, placement=LINE, sbp=S(0))
    y = x + 1
    grown = [tw.cpu.memory_stats(i)["allocated_bytes"] - b for i, b in enumerate(before)]
    assert all(2 * 2**20 <= g < 2.2 * 2**20 for g in grown), grown
    del x, y
