"""ParameterList and ParameterDict."""

import copy

import pytest
import thalweg as tw
from thalweg import nn


def test_parameter_list():
    params = nn.ParameterList([tw.ones(1), tw.ones(2)])
    params.append(nn.Parameter(tw.ones(3)))
    params += [tw.ones(4), "text"]
    assert len(params) == 5 and params[-1] == "text"
    assert [tuple(p.shape) for p in params.parameters()] == [(1,), (2,), (3,), (4,)]
    assert [tuple(p.shape) for p in params[1:3]] == [(2,), (3,)] and type(params[1:3]) is nn.ParameterList
    params[0] = tw.zeros(7)
    assert isinstance(params[0], nn.Parameter) and tuple(params[0].shape) == (7,)
    assert tuple(params.pop(1).shape) == (2,) and len(params) == 4
    assert list(params.state_dict()) == ["0", "1", "2"]
    with pytest.raises(IndexError, match="4 values"):
        params[4]
    with pytest.raises(TypeError, match="iterable"):
        params.extend(tw.ones(2))


def test_parameter_dict():
    params = nn.ParameterDict({"a": tw.ones(1), "values": tw.ones(2)})
    assert isinstance(params["values"], nn.Parameter) and callable(params.values)
    assert [name for name, _ in params.named_parameters()] == ["a", "_values"]
    params["c"] = 3
    assert list(params) == ["a", "values", "c"] and list(reversed(params)) == ["c", "values", "a"]
    assert params.get("x", 5) == 5 and params.setdefault("d", 4) == 4
    assert params.popitem() == ("d", 4) and params.pop("c") == 3
    merged = params | {"e": tw.ones(3)}
    assert list(merged) == ["a", "values", "e"] and "e" not in params
    assert list(params.fromkeys(["p", "q"], 1).items()) == [("p", 1), ("q", 1)]
    params.clear()
    assert len(params) == 0 and list(params.parameters()) == []
    with pytest.raises(KeyError):
        params["a"]
    with pytest.raises(TypeError, match="string"):
        params[1] = tw.ones(1)


def test_copies_and_text():
    params = copy.deepcopy(nn.ParameterDict({"a": tw.ones(2, 3), "n": 1}))
    assert "(a): Parameter containing: " in repr(params) and "size 2x3]" in repr(params)
    assert "(n): Object of type: int" in repr(params)
    assert "(0): Parameter containing: " in repr(nn.ParameterList([tw.ones(1)]))
