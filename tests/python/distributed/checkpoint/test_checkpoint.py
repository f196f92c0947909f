"""Checkpoints of global tensors: saved on one placement, loaded on another."""

import json

import numpy as np
import pytest
import thalweg as tw
from thalweg.distributed import checkpoint

split, broadcast, partial = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum


@pytest.fixture(autouse=True)
def four_devices():
    tw.env.init(devices_per_process=4)
    yield
    tw.env.init()


def line(count):
    return tw.placement("cpu", range(count))


def value(tensor):
    return tensor.detach().numpy()


def trainer(ranks, seed=0):
    """A (5, 3) parameter split(0) over so many ranks, or local for 0, with its optimizer."""
    tw.manual_seed(seed)
    weight = tw.randn(5, 3)
    if ranks:
        weight = weight.to_global(line(ranks), split(0))
    weight = weight.detach().requires_grad_()
    return weight, tw.optim.Adam([weight], lr=0.1)


def train(weight, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        (weight**3).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("ranks", [0, 1, 3, 4])
def test_training_goes_on_bit_for_bit_on_another_number_of_ranks(tmp_path, ranks):  # cases.md U049
    weight, optimizer = trainer(2)
    train(weight, optimizer, 3)
    checkpoint.save({"weight": weight, "optimizer": optimizer}, tmp_path)
    other, other_optimizer = trainer(ranks, seed=1)
    checkpoint.load({"weight": other, "optimizer": other_optimizer}, tmp_path)
    mine, theirs = optimizer.state[weight], other_optimizer.state[other]
    assert theirs["step"] == mine["step"] == 3
    for name in ("exp_avg", "exp_avg_sq"):
        np.testing.assert_array_equal(value(theirs[name]), value(mine[name]))
        assert not ranks or theirs[name].sbp == (split(0),)
    train(weight, optimizer, 1)
    train(other, other_optimizer, 1)
    np.testing.assert_array_equal(value(other), value(weight))


@pytest.mark.parametrize(
    "saved", [(split(0), split(0)), (split(1), broadcast), (partial, split(0)), (broadcast, split(1, unit=2))]
)
@pytest.mark.parametrize("wanted", [(split(1), split(0)), (broadcast, broadcast), (split(0, sizes=[7, 0]), split(1))])
def test_layouts_are_only_a_matter_of_who_reads_what(tmp_path, saved, wanted):
    mesh = tw.placement("cpu", [[3, 1], [0, 2]])
    whole = tw.arange(35.0).view(7, 5)
    checkpoint.save({"x": whole.to_global(mesh, saved), "empty": tw.zeros(0, 2).to_global(mesh, saved)}, tmp_path)
    state = {"x": tw.zeros(7, 5).to_global(mesh, wanted), "empty": tw.ones(0, 2).to_global(mesh, broadcasts(2))}
    checkpoint.load(state, tmp_path)
    assert state["x"].sbp == wanted
    np.testing.assert_array_equal(value(state["x"]), whole.numpy())


def broadcasts(axes):
    return [broadcast] * axes


def test_every_element_is_written_once(tmp_path):
    x = tw.arange(12.0).view(4, 3).to_global(tw.placement("cpu", [[0, 1], [2, 3]]), (split(0), broadcast))
    checkpoint.save({"x": x}, tmp_path)
    pieces = json.loads((tmp_path / "index.json").read_text())["tensors"]["x"]["pieces"]
    assert sorted((piece["first"], piece["sizes"]) for piece in pieces) == [([0, 0], [2, 3]), ([2, 0], [2, 3])]


def test_models_optimizers_and_plain_values_come_back(tmp_path):
    model = tw.nn.Sequential(tw.nn.Linear(3, 4), tw.nn.BatchNorm1d(4))
    plain = {"step": 3, "best": float("-inf"), "names": ("a", None, [True, "b"]), 7: tw.ones(2, dtype=tw.bfloat16)}
    random = tw.get_rng_state()
    checkpoint.save({"model": model, "plain": plain, "random": random}, tmp_path)
    state = {"model": tw.nn.Sequential(tw.nn.Linear(3, 4), tw.nn.BatchNorm1d(4)), "plain": None, "random": None}
    checkpoint.load(state, tmp_path)
    for name, tensor in model.state_dict().items():
        np.testing.assert_array_equal(state["model"].state_dict()[name].numpy(), tensor.numpy())
    loaded = state["plain"]
    assert bool((loaded.pop(7) == plain.pop(7)).all()) and loaded == plain
    assert bool((state["random"] == random).all())


def test_a_save_that_fails_leaves_the_checkpoint_of_before(tmp_path):
    checkpoint.save({"x": tw.ones(2), "step": 1}, tmp_path)
    with pytest.raises(TypeError, match="got object at 'y'"):
        checkpoint.save({"x": tw.zeros(2), "y": object()}, tmp_path)
    with pytest.raises(TypeError, match="no dtype complex128"):
        checkpoint.save({"x": tw.zeros(2), "y": tw.zeros(1, dtype=tw.complex128)}, tmp_path)
    state = {"x": tw.zeros(2), "step": 0}
    checkpoint.load(state, tmp_path)
    assert state["x"].tolist() == [1, 1] and state["step"] == 1


def test_files_of_checkpoints_before_are_removed_and_others_stay(tmp_path):
    (tmp_path / "mine.safetensors").write_bytes(b"")
    for step in range(3):
        checkpoint.save({"x": tw.full((2,), float(step))}, tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3 and names[1:] == ["index.json", "mine.safetensors"]


def test_damage_is_seen(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint was completed"):
        checkpoint.load({"x": None}, tmp_path)
    checkpoint.save({"x": tw.ones(100)}, tmp_path)
    with pytest.raises(ValueError, match=r"has \['x'\], but not 'y'"):
        checkpoint.load({"y": None}, tmp_path)
    with pytest.raises(ValueError, match=r"'x' has shape \(1,\), but what was saved is \(100,\)"):
        checkpoint.load({"x": tw.zeros(1)}, tmp_path)
    (file,) = tmp_path.glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="missing or damaged"):
        checkpoint.load({"x": None}, tmp_path)
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(ValueError, match="version 1 is wanted"):
        checkpoint.load({"x": None}, tmp_path)
