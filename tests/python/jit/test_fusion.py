"""Ops that run some rows at a time give eager mode's bits: values, gradients, sums over rows."""

import pytest
import thalweg as tw
from thalweg.nn import functional as F


def ops_of(function, number=0):
    return [launch.op for launch in function.plan(number).launches]


def leaves(*shapes, dtype=tw.float32):
    return [tw.randn(*shape, dtype=dtype, requires_grad=True) for shape in shapes]


def gradients(tensors):
    found = [t.grad.numpy().tobytes() for t in tensors]
    for t in tensors:
        t.grad = None
    return found


# Sums of few and of many columns, of less than a block of rows, of a few blocks and a rest.
@pytest.mark.parametrize("dtype", [tw.float32, tw.float64])
@pytest.mark.parametrize("shape", [(512, 1024), (64, 8, 384), (1000, 300), (4099, 64), (20, 4096), (2500, 129)])
def test_a_norm_of_a_chain_forward_and_backward_in_one_launch(shape, dtype):
    tw.manual_seed(0)
    columns = shape[-1:]
    tensors = leaves(shape, columns, columns, columns, columns, dtype=dtype)
    seed = tw.randn(*shape, dtype=dtype)

    def run(seed):
        x, weight, bias, scale, shift = tensors
        y = F.layer_norm(F.gelu(x * weight + bias), columns, scale, shift)
        y.backward(seed)
        return y.detach()

    expected = run(seed).numpy().tobytes(), gradients(tensors)
    compiled = tw.jit(run)
    for _ in range(2):
        assert (compiled(seed).numpy().tobytes(), gradients(tensors)) == expected
    assert ops_of(compiled) == ["by_rows"]


def test_what_backward_needs_is_made_again_where_that_is_cheap():
    tw.manual_seed(0)
    tensors = leaves((256, 512), (512,), (512,))

    def run(x, weight, bias):
        return F.layer_norm(F.silu(x * weight + bias), (512,))

    run(*tensors).sum().backward()
    expected = gradients(tensors)
    compiled = tw.jit(run)
    compiled(*tensors).sum().backward()
    assert gradients(tensors) == expected
    (launch,) = compiled.plan().launches
    assert launch.result.count("[256, 512]") == 1  # nothing but the result itself


def test_what_forward_has_written_to_is_not_read_again():
    tw.manual_seed(0)
    x, weight, bias = tw.randn(256, 512, requires_grad=True), tw.randn(512), tw.randn(512)

    def run(x):
        y = F.gelu(x * weight + bias)
        bias.add_(1)
        return y

    compiled = tw.jit(run)
    found = []
    for function in (run, compiled):
        bias.zero_()
        function(x).sum().backward()
        found += gradients([x])
    assert found[0] == found[1]


def test_softmax_masks_and_casts_in_rows():
    tw.manual_seed(0)
    x, mask = tw.randn(4, 64, 300), tw.randn(4, 64, 300) > 0

    def run(x, mask):
        y = F.softmax(tw.where(mask, x / 3, -1e9), dim=2)
        return y, y.to(tw.float64).log1p(), (y * 2).sum((0, 1), keepdim=True)

    expected = [t.numpy().tobytes() for t in run(x, mask)]
    compiled = tw.jit(run)
    results = compiled(x, mask)
    assert [t.numpy().tobytes() for t in results] == expected
    assert results[2].shape == (1, 1, 300) and ops_of(compiled).count("by_rows") == 1


@pytest.mark.parametrize("order", [tw.contiguous_format, tw.channels_last])
def test_images_in_their_order(order):
    tw.manual_seed(0)
    x = tw.randn(6, 16, 32, 32).contiguous(memory_format=order)
    mean, scale = tw.randn(16, 1, 1), tw.randn(1, 16, 1, 1)

    def run(x, mean, scale):
        return F.relu((x - mean) * scale) + x

    expected, compiled = run(x, mean, scale), tw.jit(run)
    result = compiled(x, mean, scale)
    assert result.numpy().tobytes() == expected.numpy().tobytes() and result.stride() == expected.stride()
    assert ops_of(compiled) == ["by_rows"]


def test_transposed_operands_stay_right():
    tw.manual_seed(0)
    x, y = tw.randn(300, 256), tw.randn(256, 300)

    def run(x, y):
        z = F.gelu(x.t() + y)
        return z, z.sum(0), F.gelu(x) * 2, (F.relu(y.t()) + x).sum(0)

    assert [t.numpy().tobytes() for t in tw.jit(run)(x, y)] == [t.numpy().tobytes() for t in run(x, y)]


def test_groups_that_would_wait_for_each_other_stay_apart():
    tw.manual_seed(0)
    x, w = tw.randn(256, 256), tw.randn(256, 256) / 16

    def run(x, w):
        a = F.gelu(x) + 1
        b = F.silu(tw.mm(a, w)) * 2
        c = tw.mm(b, w).sin() + a
        return tw.mm(c, w).cos() * b + a, c

    for result, expected in zip(tw.jit(run)(x, w), run(x, w)):
        assert result.numpy().tobytes() == expected.numpy().tobytes()


def test_results_take_over_memory_that_nobody_needs_any_more():
    def run(x, w):
        return F.gelu(tw.mm(x, w)) * 2 + 1

    compiled = tw.jit(run)
    compiled(tw.randn(256, 256), tw.randn(256, 256))
    assert compiled.plan().arena_bytes <= 256 * 256 * 4


def test_gradients_of_all_parts_are_put_together():
    tw.manual_seed(0)
    x = tw.randn(4, 3, 32, requires_grad=True)

    def run():
        q, k, v = (x.select(1, i) for i in range(3))
        (q * k * tw.relu(v)).sum().backward()

    run()
    expected = gradients([x])
    compiled = tw.jit(run)
    compiled()
    assert gradients([x]) == expected
    assert "select_scatter_sum" in ops_of(compiled) and "select_scatter_zeros" not in ops_of(compiled)


def test_sums_and_products_read_a_group_in_other_shapes():
    tw.manual_seed(0)
    x, layer = tw.randn(4, 64, 256, requires_grad=True), tw.nn.Linear(256, 512)

    def run():
        F.gelu(layer(x)).square().sum().backward()

    run()
    expected = gradients([x, layer.weight, layer.bias])
    compiled = tw.jit(run)
    compiled()
    assert gradients([x, layer.weight, layer.bias]) == expected
    assert "sum" not in ops_of(compiled)[2:]  # that of the bias is a part of a group
