"""Sequential, ModuleList, ModuleDict."""

from collections import OrderedDict

import pytest
import thalweg as tw
from thalweg import nn


class Plus(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x + self.n


def values(modules):
    return [module.n for module in modules]


def test_sequential_runs_in_order():
    assert nn.Sequential(Plus(1), nn.ReLU(), Plus(2))(tw.tensor(-5.0)).item() == 2
    named = nn.Sequential(OrderedDict(first=Plus(1), second=Plus(2)))
    assert named.first.n == 1 and named[-1].n == 2 and list(named._modules) == ["first", "second"]
    assert list(named[1:]._modules) == ["second"]


@pytest.mark.parametrize("make", [lambda *m: nn.Sequential(*m), lambda *m: nn.ModuleList(m)])
def test_a_sequence_behaves_like_a_list(make):
    modules, mirror = make(Plus(0), Plus(1), Plus(2)), [0, 1, 2]
    modules.append(Plus(3)), mirror.append(3)
    modules.insert(1, Plus(9)), mirror.insert(1, 9)
    modules.insert(-1, Plus(8)), mirror.insert(-1, 8)
    modules.extend([Plus(4), Plus(5)]), mirror.extend([4, 5])
    assert values(modules) == mirror and len(modules) == len(mirror)
    del modules[0], mirror[0]
    del modules[1:3], mirror[1:3]
    modules[-2], mirror[-2] = Plus(7), 7
    assert values(modules) == mirror
    assert modules.pop(1).n == mirror.pop(1)
    assert values(modules) == mirror and values(modules[::2]) == mirror[::2]
    assert list(modules._modules) == [str(i) for i in range(len(mirror))]
    assert type(modules[1:]) is type(modules)


def test_sums_and_products():
    one, two = nn.Sequential(Plus(1)), nn.Sequential(Plus(2))
    assert values(one + two) == [1, 2] and values(two * 2) == [2, 2] and values(3 * one) == [1, 1, 1]
    one += two
    assert values(one) == [1, 2]
    one *= 2
    assert values(one) == [1, 2, 1, 2]
    assert values(nn.ModuleList([Plus(1)]) + nn.ModuleList([Plus(2)])) == [1, 2]
    with pytest.raises(ValueError, match="positive"):
        _ = one * 0
    with pytest.raises(TypeError, match="Sequential"):
        _ = one + [Plus(1)]


def test_sequence_errors():
    modules = nn.ModuleList([Plus(1)])
    for call in (lambda: modules[1], lambda: modules[-2], lambda: modules.insert(5, Plus(1))):
        with pytest.raises(IndexError, match="1 modules"):
            call()
    with pytest.raises(TypeError, match="Module"):
        modules.append(3)


def test_module_dict():
    modules = nn.ModuleDict([("a", Plus(1))])
    modules["b"] = Plus(2)
    modules.update({"c": Plus(3), "a": Plus(4)})
    assert list(modules) == ["a", "b", "c"] and "b" in modules and len(modules) == 3
    assert values(modules.values()) == [4, 2, 3] and modules.pop("b").n == 2
    del modules["a"]
    assert [(key, module.n) for key, module in modules.items()] == [("c", 3)]
    modules.clear()
    assert list(modules.keys()) == []
    with pytest.raises(KeyError):
        modules["a"]
    with pytest.raises(KeyError, match="already exists"):
        modules["keys"] = Plus(1)
