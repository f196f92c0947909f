"""Four devices in this process, for every test of the folder."""

import pytest
import thalweg as tw


@pytest.fixture(autouse=True)
def four_devices():
    tw.env.init(devices_per_process=4)
    yield
    tw.env.init()
