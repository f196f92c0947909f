"""Modules that pass their options to one function: construction, forwarding, text, copies."""

import copy
import inspect
import pickle

import pytest
import thalweg as tw
from thalweg import nn
from thalweg.nn.modules.function_module import REQUIRED, FunctionModule


class Clamp(FunctionModule, function="hardtanh", min_val=REQUIRED, max_val=1.0):
    """hardtanh under another name."""


def test_options_come_by_position_or_name():
    for layer in (Clamp(-2.0, 2.0), Clamp(min_val=-2.0, max_val=2.0), Clamp(-2.0, max_val=2.0)):
        assert layer(tw.tensor([-5.0, 0.0, 5.0])).tolist() == [-2.0, 0.0, 2.0]
    assert Clamp(0.0).max_val == 1.0


def test_the_signature_is_shown():
    assert str(inspect.signature(nn.ELU)) == "(alpha=1.0, inplace=False)"
    assert repr(nn.ELU(alpha=2.0)) == "ELU(alpha=2.0, inplace=False)"
    assert list(inspect.signature(nn.GaussianNLLLoss).parameters.values())[0].kind is inspect.Parameter.KEYWORD_ONLY


def test_wrong_options_name_the_class():
    with pytest.raises(TypeError, match="Clamp: missing a required argument: 'min_val'"):
        Clamp()
    with pytest.raises(TypeError, match="ELU: .*'beta'"):
        nn.ELU(beta=1)


def test_an_option_may_be_changed_later():
    layer = nn.LeakyReLU(0.1)
    layer.negative_slope = 0.5
    assert layer(tw.tensor(-2.0)).item() == -1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(duplicate):
    assert duplicate(nn.Softplus(2.0))(tw.tensor(0.0)).item() == nn.Softplus(2.0)(tw.tensor(0.0)).item()


def test_inputs_may_be_named():
    assert nn.MSELoss()(input=tw.zeros(1), target=tw.full((1,), 2.0)).item() == 4
