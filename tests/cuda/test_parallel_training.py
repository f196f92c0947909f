"""Data and tensor parallel training over several CUDA devices of this process learns what one device learns."""

import numpy as np
import pytest
from parallel_steps import MESHES, PLANS, gpt_losses, mlp_losses

pytestmark = pytest.mark.usefixtures("four_devices")


@pytest.mark.parametrize("plan", PLANS)
def test_mlp(plan):
    losses = mlp_losses(plan)
    np.testing.assert_allclose(losses, mlp_losses(None), rtol=2e-5)
    assert losses[4][0] < losses[0][0]


@pytest.mark.parametrize("shape, roles", MESHES)
def test_gpt(shape, roles):
    np.testing.assert_allclose(gpt_losses("cuda", shape, roles), gpt_losses("cuda"), rtol=1e-4)
