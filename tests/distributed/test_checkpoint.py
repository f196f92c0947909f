"""Checkpoints that several processes write together, read by another number of them."""

import pytest
import thalweg as tw
from thalweg.distributed import checkpoint

# A (5, 3) parameter, split over all ranks or local, its optimizer, and a step.
TRAINER = """
from thalweg.distributed import checkpoint

def trainer(seed):
    tw.manual_seed(seed)
    weight = tw.randn(5, 3, placement=tw.placement.all("cpu"), sbp=tw.sbp.split(0)).detach().requires_grad_()
    return weight, tw.optim.Adam([weight], lr=0.1)

def train(weight, optimizer):
    optimizer.zero_grad()
    (weight**3).sum().backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def wanted():
    """The weights after four steps in one process."""
    tw.manual_seed(0)
    weight = tw.randn(5, 3).requires_grad_()
    optimizer = tw.optim.Adam([weight], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        (weight**3).sum().backward()
        optimizer.step()
    return weight.tolist()


@pytest.mark.parametrize("readers", [1, 3, 4])
def test_training_goes_on_with_another_number_of_processes(ranks, tmp_path, wanted, readers):  # cases.md U049
    folder = str(tmp_path / "saved")
    written = ranks(
        2,
        TRAINER
        + f"""
weight, optimizer = trainer(0)
for _ in range(3): train(weight, optimizer)
checkpoint.save({{"weight": weight, "optimizer": optimizer}}, {folder!r})
""",
    )
    assert written.code == 0, written.err
    read = ranks(
        readers,
        TRAINER
        + f"""
weight, optimizer = trainer(1)
checkpoint.load({{"weight": weight, "optimizer": optimizer}}, {folder!r})
assert optimizer.state[weight]["step"] == 3 and optimizer.state[weight]["exp_avg"].sbp == weight.sbp
train(weight, optimizer)
assert weight.detach().numpy().tolist() == {wanted!r}
""",
    )
    assert read.code == 0, read.err
    state = {"weight": tw.zeros(5, 3)}
    checkpoint.load(state, folder)
    assert state["weight"].shape == (5, 3)


def test_what_fails_in_one_process_fails_in_all_and_the_checkpoint_stays(ranks, tmp_path):
    folder = str(tmp_path / "saved")
    outcome = ranks(
        2,
        f"""
from thalweg.distributed import checkpoint
from thalweg.distributed.checkpoint import writer
checkpoint.save({{"x": tw.ones(3)}}, {folder!r})
if rank == 1:
    def full(*_): raise OSError("no space left")
    writer.save_safetensors = full
where = tw.placement.all("cpu")
try: checkpoint.save({{"x": tw.zeros(4, placement=where, sbp=tw.sbp.split(0))}}, {folder!r})
except OSError as error: print("failed:", error)
state = {{"x": None}}
checkpoint.load(state, {folder!r})
assert state["x"].tolist() == [1, 1, 1]
""",
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("no space left") == 2 and "process 1 failed: OSError" in outcome.out
