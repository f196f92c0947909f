"""tw.cuda: devices, memory, streams, events."""

import pytest
import thalweg as tw


def test_devices():
    assert tw.cuda.is_available() and tw.cuda.why_unavailable() == ""
    assert tw.cuda.device_count() == 4
    assert tw.cuda.current_device() == 0
    assert tw.cuda.get_device_name(1) == "emulated device"
    assert tw.cuda.get_device_properties("cuda:1")["major"] == 9
    tw.cuda.set_device(1)
    try:
        assert tw.zeros(2, device="cuda").device == tw.device("cuda:1")
        assert tw.zeros(2, device="cuda:0").device == tw.device("cuda:0")
    finally:
        tw.cuda.set_device(0)
    with pytest.raises(tw.DeviceError, match="there is no device cuda:4"):
        tw.zeros(2, device="cuda:4")
    with pytest.raises(tw.DeviceError, match="there is no device cuda:7: there are 4"):
        tw.cuda.synchronize(7)
    with pytest.raises(ValueError, match="a device of CUDA is wanted, got cpu"):
        tw.cuda.memory_allocated("cpu")


def test_memory_is_counted_and_reused():
    tw.cuda.empty_cache()
    before, elsewhere = tw.cuda.memory_allocated(), tw.cuda.memory_allocated(1)
    x = tw.zeros(1000, device="cuda")
    assert tw.cuda.memory_allocated() == before + 4096
    assert tw.cuda.memory_reserved() >= tw.cuda.memory_allocated()
    address, count = x.data_ptr(), tw.cuda.memory_stats()["allocation_count"]
    del x
    assert tw.cuda.memory_allocated() == before
    y = tw.ones(1000, device="cuda")
    assert y.data_ptr() == address and tw.cuda.memory_stats()["allocation_count"] == count + 1
    tw.cuda.reset_peak_memory_stats()
    assert tw.cuda.max_memory_allocated() == before + 4096
    del y
    assert tw.cuda.max_memory_allocated() == before + 4096
    assert tw.cuda.memory_allocated(1) == elsewhere


def test_out_of_memory_says_what_holds_it():
    tw.cuda.empty_cache()
    before = tw.cuda.memory_reserved()
    held = [tw.empty(25 << 20, dtype=tw.uint8, device="cuda") for _ in range(3)]
    cached = tw.empty(900 << 20, dtype=tw.uint8, device="cuda")
    del cached
    # What is cached makes room; what tensors hold does not.
    again = tw.empty(920 << 20, dtype=tw.uint8, device="cuda")
    del again
    with pytest.raises(tw.OutOfMemoryError) as caught:
        tw.empty(1000 << 20, dtype=tw.uint8, device="cuda")
    text = str(caught.value)
    assert "cuda:0: 1000.0 MiB were asked for; of 1024.0 MiB" in text
    assert "3 x 26.0 MiB" in text or "3 x 25.0 MiB" in text
    del held
    tw.cuda.empty_cache()
    assert tw.cuda.memory_reserved() == before


def test_streams():
    default = tw.cuda.default_stream()
    assert tw.cuda.current_stream() == default == tw.cuda.current_stream("cuda:0")
    side = tw.cuda.Stream()
    assert side != default and side.device == tw.device("cuda:0") and "cuda:0" in repr(side)
    with tw.cuda.stream(side):
        assert tw.cuda.current_stream() == side
        x = tw.ones(4, device="cuda")
    assert tw.cuda.current_stream() == default
    default.wait_stream(side)
    x.record_stream(default)
    assert (x + 1).tolist() == [2, 2, 2, 2]
    side.synchronize()
    assert side.query()
    other = tw.cuda.Stream(1)
    with tw.cuda.stream(other):
        assert tw.cuda.current_device() == 1
        assert tw.zeros(1, device="cuda").device == tw.device("cuda:1")
    assert tw.cuda.current_device() == 0


def test_a_block_that_another_stream_uses_is_not_given_away_before():
    side = tw.cuda.Stream()
    x = tw.ones(3000, device="cuda")
    address = x.data_ptr()
    x.record_stream(side)
    del x
    # The event of an emulated stream has been reached at once: the block comes back by way of it.
    assert tw.ones(3000, device="cuda").data_ptr() == address


def test_events():
    begin, end = tw.cuda.Event(enable_timing=True), tw.cuda.Event(enable_timing=True)
    assert begin.query()
    with pytest.raises(RuntimeError, match="both events must have been recorded"):
        begin.elapsed_time(end)
    begin.record()
    tw.ones(1000, device="cuda")
    end.record()
    end.synchronize()
    assert end.query() and begin.elapsed_time(end) >= 0
    end.wait(tw.cuda.Stream())
    on_one = tw.cuda.Event(device=1)
    with pytest.raises(ValueError, match="a stream of cuda:1 is wanted, got one of cuda:0"):
        on_one.record()


def test_pinned_memory():
    x = tw.arange(1000.0)
    pinned = x.pin_memory()
    assert pinned.device == tw.device("cpu") and pinned.tolist() == x.tolist()
    there = pinned.to("cuda", non_blocking=True)
    assert there.cpu().tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="a tensor on the CPU is wanted, got one on cuda:0"):
        there.pin_memory()
