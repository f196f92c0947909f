"""What a function reads outside is noticed when it changes: attributes, members, globals, layouts, groups."""

import pytest
import thalweg as tw
from thalweg import nn


def test_attributes_of_modules_are_guarded_and_become_numbers_when_they_vary():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.dropout = nn.Dropout(0.5)
            self.scale, self.flag, self.calls = 2.0, "plus", 0

        def forward(self, x):
            self.calls += 1
            x = self.dropout(x) * self.scale
            return x + 1 if self.flag == "plus" else x - 1

    models = [Noisy(), Noisy()]
    static = tw.jit(models[1].__call__)
    x = tw.ones(50)
    for i in range(8):
        outcomes = []
        for model, call in zip(models, (models[0], static)):
            model.dropout.p, model.scale, model.flag = 0.1 * i, 2.0 + i, ("minus" if i == 7 else "plus")
            tw.manual_seed(i)
            outcomes.append((call(x).tolist(), model.calls))
        assert outcomes[0] == outcomes[1]
    assert static.trace_count <= 5  # first, calls, p, scale, flag


def test_members_of_modules_are_guarded():
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x.detach()

    model, x = Stack(), tw.ones(1, 2)
    static = tw.jit(lambda x: model(x))

    def check(traces):
        assert static(x).tolist() == model(x).tolist() == static(x).tolist() and static.trace_count == traces

    check(1)
    model.layers.append(nn.Linear(2, 2))
    check(2)
    model.layers[0].weight = nn.Parameter(tw.ones(2, 2))
    check(3)
    del model.layers[0]
    check(4)
    model.layers[0].register_forward_hook(lambda module, args, output: output + 1)
    check(5)
    model.to(tw.float64), model.to(tw.float32)
    model.train(), model.eval(), model.train()
    static(x)
    check(static.trace_count)
    tied = nn.Linear(2, 2)
    model.layers.append(tied), model.layers.append(tied)
    static(x)
    check(static.trace_count)


def test_globals_and_closures_are_guarded():
    scale = 2.0

    def f(x):
        return x * scale

    static = tw.jit(f)
    assert static(tw.ones(1)).item() == 2
    scale = 3.0
    assert static(tw.ones(1)).item() == 3 and static.trace_count == 2
    globals()["FACTOR"] = 1.0
    static = tw.jit(lambda x: x * FACTOR)  # noqa: F821
    values = []
    for i in range(5):
        globals()["FACTOR"] = float(i)
        values.append(static(tw.ones(1)).item())
    assert values == [0, 1, 2, 3, 4] and static.trace_count == 2
    del globals()["FACTOR"]
    with pytest.raises(NameError):
        static(tw.ones(1))


def test_other_objects_under_the_same_name_are_noticed():
    layer, mask = nn.Linear(2, 2), tw.ones(2)

    class Holder:
        def __init__(self):
            self.table = tw.ones(2)

        @tw.jit
        def scale(self, x):
            return x * self.table

    static = tw.jit(lambda x: layer(x).detach() * mask)
    x, holder = tw.ones(1, 2), Holder()
    for traces in (1, 2):
        assert static(x).tolist() == (layer(x) * mask).tolist() == static(x).tolist() and static.trace_count == traces
        layer, mask = nn.Linear(2, 2), tw.zeros(2)
    for i in range(3):
        holder.table = tw.full((2,), float(i))
        assert holder.scale(x).tolist() == [[i, i]]
    module = nn.Linear(2, 2)
    module.plain = tw.ones(2)
    module.forward = lambda x: x * module.plain
    static = tw.jit(module)
    assert static(x).tolist() == [[1, 1]]
    module.plain = tw.zeros(2)
    assert static(x).tolist() == [[0, 0]]


def test_layouts_of_variables_are_guarded():
    weight = nn.Parameter(tw.arange(6.0).reshape(2, 3))
    static = tw.jit(lambda x: (x * weight).detach())
    x = tw.ones(2, 3)
    static(x)
    weight.data = tw.arange(6.0).reshape(3, 2).t()
    assert static(x).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_groups_that_grow_are_noticed():
    a, b = (nn.Parameter(tw.ones(1)) for _ in range(2))
    optimizer = tw.optim.SGD([a], lr=1.0)

    @tw.jit
    def step():
        optimizer.zero_grad()
        (a * 2 + b * 3).sum().backward()
        optimizer.step()

    step(), step()
    optimizer.add_param_group({"params": [b], "lr": 0.5})
    b.grad = None
    step()
    assert a.item() == 1 - 3 * 2 and b.item() == 1 - 0.5 * 3
