import copy
import pickle

import pytest
import thalweg as tw


def test_names():
    assert repr(tw.strided) == "thalweg.strided" and tw.ones(2).layout is tw.strided
    for constant in (tw.preserve_format, tw.channels_last):
        assert pickle.loads(pickle.dumps(constant)) is constant and copy.deepcopy(constant) is constant


@pytest.mark.parametrize(("rank", "name"), [(4, "channels_last"), (5, "channels_last_3d")])
def test_channels_last(rank, name):
    wanted = getattr(tw, name)
    x = tw.arange(2**rank).reshape([2] * rank).double()
    for y in (x.to(memory_format=wanted), x.contiguous(memory_format=wanted), x.cpu(memory_format=wanted)):
        assert (y == x).all() and y.stride()[1] == 1 and y.stride()[0] == x.stride()[0]
        assert y.is_contiguous(memory_format=wanted) and not y.is_contiguous()
        assert y.contiguous(memory_format=wanted) is y and y.to(memory_format=tw.preserve_format) is y
        assert y.contiguous().stride() == x.stride()
    assert x.float(memory_format=wanted).dtype == tw.float32 and not x.is_contiguous(memory_format=wanted)
    with pytest.raises(RuntimeError, match=f"dims, got {rank - 1}"):
        x[0].to(memory_format=wanted)
    assert not x[0].is_contiguous(memory_format=wanted)


def test_to_takes_its_flags_in_order():
    x = tw.ones(2)
    assert x.to(tw.float32, True) is x  # non_blocking
    assert x.to(tw.float32, False, True) is not x
    assert x.to("cpu", tw.float64, False, True).dtype == tw.float64


def test_what_is_no_format_is_refused():
    with pytest.raises(TypeError, match="to: a memory format is wanted"):
        tw.ones(2).to(memory_format="channels_last")
    with pytest.raises(RuntimeError, match="contiguous: a memory format that orders"):
        tw.ones(2).contiguous(memory_format=tw.preserve_format)
