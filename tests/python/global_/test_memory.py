"""Each device holds its parts of weights, gradients, states and activations, and nothing of others, during a step."""

import gc

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

S, B = tw.sbp.split, tw.sbp.broadcast
LINE = tw.placement("cpu", [0, 1, 2, 3])
WIDTH, INNER, BATCH = 256, 4096, 64


def peaks(graph, where=None):
    """The most bytes that each device holds during a step beyond what it held before the model was made."""
    gc.collect()  # what lies in cycles, here and below, counts no longer
    tw.cpu.empty_cache()  # free blocks that are larger than what asks for them would count whole
    before = [tw.cpu.memory_allocated(i) for i in range(4)]
    model = nn.Sequential(nn.Linear(WIDTH, INNER, bias=False), nn.GELU(), nn.Linear(INNER, WIDTH, bias=False))
    x = tw.randn(BATCH, WIDTH)
    if where is not None:  # Megatron's MLP
        model.to_global(where, lambda name, tensor: S(0) if name == "0.weight" else S(1))
        x = x.to_global(where, B)
    optimizer = tw.optim.AdamW(model.parameters())

    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    run = tw.jit(step) if graph else step
    for _ in range(3):
        run(x)
    if graph:
        run._keep(run._programs()[:1])  # the last ones used come first; others have arenas, too
    gc.collect()
    tw.cpu.empty_cache()
    for i in range(4):
        tw.cpu.reset_peak_memory_stats(i)
    run(x)
    return [tw.cpu.max_memory_allocated(i) - before[i] for i in range(4)]


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "program"])
def test_a_step_takes_a_quarter_on_each_of_four_devices(graph):
    alone = peaks(graph)[0]
    each = peaks(graph, LINE)
    weights = 4 * 2 * WIDTH * INNER  # bytes
    for peak in each:
        assert peak >= weights  # its quarters of weights, gradients and two moments
        assert peak <= 0.27 * alone  # the input and the output are whole on each
        assert peak == pytest.approx(each[0], rel=0.1)  # who is ahead, packs for a product while others do not


def test_every_part_is_an_allocation_of_its_own():
    before = [tw.cpu.memory_allocated(i) for i in range(4)]
    for how, share in ((S(0), 4), (B, 1)):
        x = tw.ones(4096, 256, placement=LINE, sbp=how)
        parts = x.to_local()
        assert len({part.data_ptr() for part in parts}) == 4
        for i, part in enumerate(parts):
            assert part.untyped_storage().nbytes() == 4 * 4096 * 256 // share
            assert tw.cpu.memory_allocated(i) - before[i] == pytest.approx(4 * 4096 * 256 // share, rel=0.01)
            assert np.asarray(part)[0, 0] == 1
        del x, parts, part
