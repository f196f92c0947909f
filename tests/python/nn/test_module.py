"""Module: registration, calling, walking, modes, text, copies."""

import copy
import pickle

import pytest
import thalweg as tw
from thalweg import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.register_buffer("mean", tw.zeros(3))
        self.register_buffer("scratch", tw.ones(1), persistent=False)
        self.scale = nn.Parameter(tw.ones(3))

    def forward(self, x):
        return self.linear(x) * self.scale


def test_members_are_found_in_order_of_registration():
    block = Block()
    assert [name for name, _ in block.named_parameters()] == ["scale", "linear.weight", "linear.bias"]
    assert [name for name, _ in block.named_parameters(prefix="b", recurse=False)] == ["b.scale"]
    assert [name for name, _ in block.named_buffers()] == ["mean", "scratch"]
    assert [name for name, _ in block.named_modules()] == ["", "linear"]
    assert list(block.children()) == [block.linear]


def test_a_shared_parameter_comes_once():
    first, second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    second.weight = first.weight
    model = nn.Sequential(first, second)
    assert [name for name, _ in model.named_parameters()] == ["0.weight"]
    assert [name for name, _ in model.named_parameters(remove_duplicate=False)] == ["0.weight", "1.weight"]


def test_an_assigned_name_has_one_meaning():
    block = Block()
    block.scale = None
    assert block.scale is None and "scale" in block._parameters
    block.extra = 1
    block.extra = nn.Linear(1, 1)
    assert "extra" in block._modules and "extra" not in vars(block)
    block.extra = nn.Parameter(tw.ones(1))
    assert "extra" in block._parameters and "extra" not in block._modules
    del block.extra
    assert not hasattr(block, "extra")


def test_a_buffer_is_replaced_by_assignment():
    block = Block()
    block.mean = tw.ones(3)
    assert block._buffers["mean"].sum().item() == 3


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("scale", tw.ones(3), TypeError), ("linear", 3, TypeError), ("mean", "text", TypeError)],
)
def test_a_member_refuses_other_kinds(name, value, error):
    with pytest.raises(error, match=name):
        setattr(Block(), name, value)


def test_names_are_checked():
    block = Block()
    with pytest.raises(KeyError, match="non-empty"):
        block.register_parameter("a.b", None)
    with pytest.raises(KeyError, match="already exists"):
        block.register_buffer("linear", tw.ones(1))
    with pytest.raises(TypeError, match="Module or None"):
        block.add_module("x", 3)


def test_a_parameter_must_be_a_leaf():
    derived = nn.Parameter(tw.ones(1), requires_grad=False)
    derived.add_(nn.Parameter(tw.ones(1)))
    with pytest.raises(ValueError, match="leaf"):
        Block().register_parameter("derived", derived)


def test_assigning_before_init_is_an_error():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(tw.ones(1))

    with pytest.raises(AttributeError, match="super"):
        Early()


def test_a_missing_attribute_and_a_missing_forward_say_so():
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'nothing'"):
        _ = Block().nothing
    with pytest.raises(NotImplementedError, match="Module"):
        nn.Module()(1)


def test_train_and_eval_reach_every_module():
    model = nn.Sequential(Block(), nn.Dropout())
    assert all(not module.training for module in model.eval().modules())
    assert all(module.training for module in model.train().modules())
    with pytest.raises(TypeError, match="bool"):
        model.train(1)


def test_requires_grad_and_zero_grad():
    block = Block()
    block(tw.ones(1, 2)).sum().backward()
    block.zero_grad(set_to_none=False)
    assert block.scale.grad.abs().sum().item() == 0
    block.zero_grad()
    assert block.scale.grad is None
    assert not any(p.requires_grad for p in block.requires_grad_(False).parameters())


def test_submodules_by_dotted_name():
    model = nn.Sequential(Block(), nn.Identity())
    assert model.get_submodule("0.linear") is model[0].linear
    assert model.get_parameter("0.linear.weight") is model[0].linear.weight
    assert model.get_buffer("0.mean") is model[0].mean
    model.set_submodule("0.linear", nn.Identity())
    assert isinstance(model[0].linear, nn.Identity)
    with pytest.raises(AttributeError, match="nothing"):
        model.get_submodule("0.nothing")
    with pytest.raises(AttributeError, match="not a Parameter"):
        model.get_parameter("0.mean")


def test_apply_visits_children_first():
    seen = []
    Block().apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Block"]


def test_repr_is_a_tree():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))
    assert repr(model) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n    (0): ReLU(inplace=False)\n  )\n)"
    )


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies_are_equal_and_independent(duplicate):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    model[0].weight.requires_grad_(False)
    twin = duplicate(model)
    assert type(twin[0].weight) is nn.Parameter and not twin[0].weight.requires_grad
    assert twin[1].weight is twin[0].weight and twin[0].weight is not model[0].weight
    assert twin(tw.ones(1, 2)).tolist() == model(tw.ones(1, 2)).tolist()
    with tw.no_grad():
        twin[0].weight.fill_(7)
    assert model[0].weight.max().item() != 7
