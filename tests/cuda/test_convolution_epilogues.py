"""What follows a convolution in a static program is one pass over its result on CUDA, which keeps every bit."""

import itertools

import pytest
import thalweg as tw
from convolution_block import Block, ops_of
from thalweg import nn

CASES = {
    "plain": ((2, 6, 7, 5), lambda: nn.Conv2d(6, 10, 3, 1, 1, bias=False)),
    "bias": ((3, 8, 9, 6), lambda: nn.Conv2d(8, 12, 3, 2, 1)),
    "groups": ((2, 8, 5, 6), lambda: nn.Conv2d(8, 8, 3, 1, 1, groups=4)),
    "few channels": ((2, 3, 6, 6), lambda: nn.Conv2d(3, 2, 2)),
}


@pytest.mark.parametrize("order", [tw.contiguous_format, tw.channels_last])
@pytest.mark.parametrize("case", CASES)
def test_a_block_in_evaluation_is_one_launch_and_keeps_every_bit(case, order):
    tw.manual_seed(0)
    shape, conv = CASES[case]
    block = Block(conv()).eval().to(memory_format=order).cuda()
    x = tw.randn(*shape).to(memory_format=order).cuda()
    with tw.no_grad():
        other = tw.randn(*block.conv(x).shape).to(memory_format=order).cuda()
        compiled = tw.jit(block.forward)
        for _ in range(3):
            got, expected = compiled(x, other), block(x, other)
            assert got.cpu().numpy().tobytes() == expected.cpu().numpy().tobytes()
            assert got.stride() == expected.stride()
            block.norm.running_mean.add_(1)  # what it reads may change between calls
        assert ops_of(compiled).count("convolution_then") == 1
        assert not {"convolution", "addcmul", "relu"} & set(ops_of(compiled))


@pytest.mark.parametrize("parts", list(itertools.product([False, True], repeat=3)), ids=str)
def test_each_part_may_be_missing_and_a_residual_may_lie_otherwise(parts):
    tw.manual_seed(0)
    block = Block(nn.Conv2d(4, 4, 3, 1, 1), *parts).eval().cuda()
    x = tw.randn(2, 4, 6, 5).cuda()
    with tw.no_grad():
        for other in (x, x.to(memory_format=tw.channels_last)):
            compiled = tw.jit(block.forward)
            assert compiled(x, other).cpu().numpy().tobytes() == block(x, other).cpu().numpy().tobytes()
            assert ("convolution_then" in ops_of(compiled)) == any(parts)
