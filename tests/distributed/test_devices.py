"""One process with several devices."""

import pytest
import thalweg as tw


@pytest.fixture
def four():
    tw.env.init(devices_per_process=4)
    yield
    tw.env.init()


def test_a_process_may_own_several_ranks(four):
    assert tw.env.get_world_size() == tw.cpu.device_count() == 4
    assert tw.env.addressable_ranks() == range(4)
    assert (tw.env.get_rank(), tw.env.get_local_rank(), tw.env.get_node_size()) == (0, 0, 1)
    tw.env.init(devices_per_process=2)
    assert tw.env.get_world_size() == tw.cpu.device_count() == 2
    with pytest.raises(ValueError, match="at least one device a process is wanted, got 0"):
        tw.env.init(devices_per_process=0)
    with pytest.raises(ValueError, match="1 to 256 devices, got 257"):
        tw.env.init(devices_per_process=257)


def test_every_device_has_statistics_of_its_own(four):
    before = [tw.cpu.memory_stats(i) for i in range(4)]
    x = tw.empty(1 << 20, dtype=tw.uint8)
    assert tw.cpu.memory_allocated("cpu:0") - before[0]["allocated_bytes"] >= x.nbytes
    assert [tw.cpu.memory_stats(tw.device("cpu", i)) for i in (1, 2, 3)] == before[1:]
    with pytest.raises(tw.DeviceError, match="there is no device cpu:4: this process has 4"):
        tw.cpu.memory_stats(4)
    with pytest.raises(ValueError, match="a device of the CPU is wanted, got cuda:1"):
        tw.cpu.empty_cache("cuda:1")
    tw.cpu.empty_cache()


def test_a_communication_error_is_of_the_outside_world():
    assert issubclass(tw.CommError, OSError) and issubclass(tw.CommError, RuntimeError)
    assert issubclass(tw.PlacementError, ValueError)


def test_the_first_global_tensor_of_a_process_may_be_made_from_nothing(ranks):
    outcome = ranks(1, "print(tw.zeros(4, placement=tw.placement.all('cpu'), sbp=tw.sbp.split(0)).sbp)")
    assert outcome.code == 0 and "(sbp.split(0),)" in outcome.out, outcome.err
