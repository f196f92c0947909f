"""The allocator as Python sees it."""

import gc

import thalweg as tw

MEGABYTE = 1 << 20


def test_tensors_are_counted_while_they_live():
    before = tw.cpu.memory_allocated()
    x = tw.empty(MEGABYTE, dtype=tw.uint8)
    assert tw.cpu.memory_allocated() - before >= MEGABYTE
    del x
    assert tw.cpu.memory_allocated() == before


def test_the_peak_remembers_what_is_gone():
    gc.collect()  # tensors that earlier tests left in cycles would go at any time
    tw.cpu.reset_peak_memory_stats()
    base = tw.cpu.memory_allocated()
    x = tw.empty(8 * MEGABYTE, dtype=tw.uint8)
    del x
    assert tw.cpu.max_memory_allocated() - base > 7 * MEGABYTE
    tw.cpu.reset_peak_memory_stats()
    assert tw.cpu.max_memory_allocated() == tw.cpu.memory_allocated()


def test_freed_blocks_are_reused_and_given_back():
    x = tw.empty(16 * MEGABYTE, dtype=tw.uint8)
    address = x.data_ptr()
    del x
    y = tw.empty(16 * MEGABYTE, dtype=tw.uint8)
    assert y.data_ptr() == address
    del y
    held = tw.cpu.memory_reserved()
    tw.cpu.empty_cache()
    assert tw.cpu.memory_reserved() <= held - 16 * MEGABYTE


def test_state_of_an_optimizer_does_not_sit_in_larger_blocks():
    """A block that is free and a little too large serves a tensor of a step, but not what stays with the optimizer."""
    param = tw.nn.Parameter(tw.zeros(5 << 18))
    param.grad = tw.ones(5 << 18)
    optimizer = tw.optim.AdamW([param], lr=0.1)
    larger = [tw.empty(6 << 18), tw.empty(6 << 18)]
    tw.cpu.empty_cache()
    del larger
    before = tw.cpu.memory_allocated()
    passing = tw.empty(5 << 18)
    assert tw.cpu.memory_allocated() - before == 6 * MEGABYTE
    del passing
    optimizer.step()
    assert tw.cpu.memory_allocated() - before == 2 * 5 * MEGABYTE


def test_cuda_says_what_is_missing():
    assert not tw.cuda.is_available()
    assert "CUDA" in tw.cuda.why_unavailable()
