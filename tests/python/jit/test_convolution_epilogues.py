"""What follows a convolution in a static program, a running norm, a residual, relu, is done to pieces of its result."""

import numpy as np
import pytest
import thalweg as tw
from convolution_block import Block, ops_of
from thalweg import nn
from thalweg.nn import functional as F

# By tiles, by oneDNN on chunks of images and on parts of large weights, and by columns (padding that oneDNN refuses).
CASES = {
    "tiles": ((8, 64, 16, 16), lambda: nn.Conv2d(64, 64, 3, 1, 1, bias=False)),
    "odd tiles": ((5, 64, 15, 17), lambda: nn.Conv2d(64, 128, 3, 1, 1)),
    "chunks": ((9, 24, 20, 20), lambda: nn.Conv2d(24, 40, 3, 2, 1)),
    "pointwise": ((6, 32, 14, 14), lambda: nn.Conv2d(32, 48, 1, bias=False)),
    "groups": ((4, 32, 10, 10), lambda: nn.Conv2d(32, 32, 3, 1, 1, groups=4)),
    "large weight": ((2, 256, 4, 4), lambda: nn.Conv2d(256, 256, 3, 1, 1)),
    "wide padding": ((2, 3, 6, 6), lambda: nn.Conv2d(3, 5, 2, 1, 9)),
}


@pytest.mark.parametrize("order", [tw.contiguous_format, tw.channels_last])
@pytest.mark.parametrize("case", CASES)
def test_a_block_in_evaluation_is_one_launch_and_keeps_every_bit(case, order):
    tw.manual_seed(0)
    shape, conv = CASES[case]
    block = Block(conv()).eval().to(memory_format=order)
    x = tw.randn(*shape).to(memory_format=order)
    with tw.no_grad():
        other = tw.randn(*block.conv(x).shape).to(memory_format=order)
        expected = block(x, other)
        compiled = tw.jit(block.forward)
        got = compiled(x, other)
        assert got.numpy().tobytes() == expected.numpy().tobytes()
        assert got.stride() == expected.stride()
        assert "convolution_then" in ops_of(compiled)
        assert not {"convolution", "addcmul", "relu", "by_rows"} & set(ops_of(compiled))
        block.norm.running_mean.add_(1)  # what it reads may change between calls
        assert np.array_equal(compiled(x, other).numpy(), block(x, other).numpy())


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_each_part_may_be_missing(norm, residual, relu):
    tw.manual_seed(0)
    block = Block(nn.Conv2d(16, 16, 3, 1, 1), norm, residual, relu).eval()
    x = tw.randn(4, 16, 12, 12)
    with tw.no_grad():
        compiled = tw.jit(block.forward)
        assert compiled(x, x).numpy().tobytes() == block(x, x).numpy().tobytes()
        assert ("convolution_then" in ops_of(compiled)) == (norm or residual or relu)


def test_a_residual_may_lie_otherwise_and_numbers_may_be_infinite():
    tw.manual_seed(0)
    block = Block(nn.Conv2d(64, 64, 3, 1, 1)).eval().to(memory_format=tw.channels_last)
    x, other = tw.randn(8, 64, 16, 16).to(memory_format=tw.channels_last), tw.randn(8, 64, 16, 16)
    with tw.no_grad():
        compiled = tw.jit(block.forward)
        for _ in range(2):
            got, expected = compiled(x, other), block(x, other)
            assert np.array_equal(got.numpy(), expected.numpy(), equal_nan=True)
            assert got.stride() == expected.stride()
            x[3, 5, 7, 7] = float("inf")  # tiles give up, and the direct sum does it again


def test_training_and_other_readers_keep_their_convolution():
    tw.manual_seed(0)
    block = Block(nn.Conv2d(16, 16, 3, 1, 1))
    x = tw.randn(4, 16, 12, 12)
    compiled = tw.jit(lambda x: block(x, x).sum().backward())
    compiled(x)
    assert "convolution" in ops_of(compiled)

    @tw.jit
    def both(x):
        y = block.conv(x)
        return y, F.relu(y)

    with tw.no_grad():
        both(x)
    assert "convolution" in ops_of(both)
