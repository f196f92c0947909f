"""state_dict and load_state_dict: names, strictness, shapes, extra state, hooks, older versions."""

import pytest
import thalweg as tw
from thalweg import nn


def test_names_and_metadata():
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1, bias=False))
    model.register_buffer("scratch", tw.ones(1), persistent=False)
    state = model.state_dict(prefix="net.")
    assert list(state) == [
        "net.0.weight", "net.0.bias", "net.0.running_mean", "net.0.running_var", "net.0.num_batches_tracked",
        "net.1.weight",
    ]  # fmt: skip
    assert state._metadata["net.0"]["version"] == 2
    assert not state["net.1.weight"].requires_grad
    assert model.state_dict(keep_vars=True)["1.weight"] is model[1].weight


def test_round_trip_casts_to_the_module():
    source, target = nn.Linear(3, 2), nn.Linear(3, 2).double()
    weight = target.weight
    keys = target.load_state_dict(source.state_dict())
    assert keys.missing_keys == [] and keys.unexpected_keys == []
    assert target.weight is weight and target.weight.dtype == tw.float64
    assert target.weight.tolist() == source.weight.tolist()


@pytest.mark.parametrize("strict", [True, False])
def test_another_shape_is_refused_and_nothing_is_copied(strict):
    model = nn.Sequential(nn.Linear(2, 2), nn.Conv2d(64, 32, 3))
    state = nn.Sequential(nn.Linear(2, 2), nn.Conv2d(64, 1, 3)).state_dict()
    before = model[0].weight.tolist()
    with pytest.raises(ValueError) as error:
        model.load_state_dict(state, strict=strict)
    text = str(error.value)
    assert "1.weight: shape [32, 64, 3, 3] is wanted, got [1, 64, 3, 3]" in text
    assert "1.bias: shape [32] is wanted, got [1]" in text
    assert model[0].weight.tolist() == before


def test_strict_refuses_names_and_copies_nothing():
    model = nn.Linear(2, 1)
    before = model.weight.tolist()
    with pytest.raises(ValueError, match="missing: bias\n  unexpected: more"):
        model.load_state_dict({"weight": tw.full((1, 2), 9.0), "more": tw.ones(1)})
    assert model.weight.tolist() == before


def test_not_strict_returns_both_lists():
    model = nn.Linear(2, 1)
    keys = model.load_state_dict({"weight": tw.full((1, 2), 9.0), "more": tw.ones(1)}, strict=False)
    assert keys.missing_keys == ["bias"] and keys.unexpected_keys == ["more"]
    assert model.weight.tolist() == [[9.0, 9.0]]


def test_what_is_no_tensor_or_no_mapping_is_refused():
    with pytest.raises(ValueError, match="weight: a tensor is wanted, got float"):
        nn.Linear(1, 1, bias=False).load_state_dict({"weight": 1.0}, strict=False)
    with pytest.raises(TypeError, match="mapping"):
        nn.Linear(1, 1).load_state_dict([1])


def test_assign_takes_the_tensors_over():
    model, weight = nn.Linear(1, 1, bias=False), tw.ones(1, 1, dtype=tw.float64)
    model.load_state_dict({"weight": weight}, assign=True)
    assert isinstance(model.weight, nn.Parameter) and model.weight.dtype == tw.float64
    weight.fill_(5)
    assert model.weight.item() == 5


class Counter(nn.Module):
    def __init__(self, count=0):
        super().__init__()
        self.count = count

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def test_extra_state():
    model = nn.Sequential(Counter(3))
    assert model.state_dict() == {"0._extra_state": {"count": 3}}
    other = nn.Sequential(Counter())
    other.load_state_dict(model.state_dict())
    assert other[0].count == 3
    with pytest.raises(ValueError, match="missing: 0._extra_state"):
        other.load_state_dict({})
    with pytest.raises(ValueError, match="unexpected: 0._extra_state"):
        nn.Sequential(nn.Identity()).load_state_dict(model.state_dict())


def test_hooks_around_saving():
    model = nn.Linear(1, 1, bias=False)
    model.register_state_dict_pre_hook(lambda module, prefix, keep_vars: module.weight.data.fill_(4))
    model.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(note=tw.ones(1)))
    state = model.state_dict()
    assert list(state) == ["weight", "note"] and state["weight"].item() == 4


def test_a_pre_hook_may_rename_without_touching_the_caller():
    model = nn.Sequential(nn.Linear(1, 1, bias=False))

    def rename(module, state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "old")

    model[0].register_load_state_dict_pre_hook(rename)
    given = {"0.old": tw.full((1, 1), 2.0)}
    model.load_state_dict(given)
    assert model[0].weight.item() == 2 and list(given) == ["0.old"]


def test_a_post_hook_may_forgive_names():
    model = nn.Linear(1, 1)
    handle = model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    model.load_state_dict({"weight": tw.ones(1, 1)})
    handle.remove()
    with pytest.raises(ValueError, match="missing: bias"):
        model.load_state_dict({"weight": tw.ones(1, 1)})


def test_batch_norm_state_from_before_the_counter():
    norm = nn.BatchNorm1d(2)
    state = norm.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(ValueError, match="num_batches_tracked"):
        norm.load_state_dict(state)
    norm.load_state_dict(dict(state))  # without metadata it is taken for an old one
    assert norm.num_batches_tracked.item() == 0
