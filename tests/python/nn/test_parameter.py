"""Parameter and Buffer."""

import copy
import pickle

import pytest
import thalweg as tw
from thalweg import nn


def test_a_parameter_shares_its_data_and_is_a_leaf():
    data = tw.ones(2)
    parameter = nn.Parameter(data)
    assert isinstance(parameter, tw.Tensor) and parameter.is_leaf and parameter.requires_grad
    data.fill_(3)
    assert parameter.tolist() == [3.0, 3.0]
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert tuple(nn.Parameter().shape) == (0,)


def test_results_of_operations_are_plain_tensors():
    parameter = nn.Parameter(tw.ones(2))
    assert type(parameter + 1) is tw.Tensor and type(parameter.detach()) is tw.Tensor


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_keep_class_flags_and_attributes(duplicate):
    parameter = nn.Parameter(tw.tensor([1.0, 2.0]), requires_grad=False)
    parameter.note = "kept"
    twin = duplicate(parameter)
    assert type(twin) is nn.Parameter and not twin.requires_grad and twin.note == "kept"
    assert twin.tolist() == [1.0, 2.0]
    buffer = duplicate(nn.Buffer(tw.ones(1), persistent=False))
    assert type(buffer) is nn.Buffer and buffer.persistent is False


def test_a_buffer_is_registered_by_assignment():
    module = nn.Module()
    module.kept = nn.Buffer(tw.ones(1))
    module.scratch = nn.Buffer(tw.ones(1), persistent=False)
    assert list(dict(module.named_buffers())) == ["kept", "scratch"]
    assert list(module.state_dict()) == ["kept"]


def test_repr_names_the_class():
    assert repr(nn.Parameter(tw.ones(1))).startswith("Parameter containing:\n")
