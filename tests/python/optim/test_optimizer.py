"""Groups, closures, hooks, saving and loading of optimizers."""

import copy
import pickle

import pytest
import thalweg as tw
from thalweg import nn, optim


def parameter(*values, dtype=None):
    return nn.Parameter(tw.tensor(values, dtype=dtype))


def step(optimizer, *grads):
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for param, grad in zip(params, grads):
        param.grad = None if grad is None else tw.full_like(param, grad)
    optimizer.step()


def test_groups_have_their_own_options():
    a, b, c = parameter(0.0), parameter(0.0), parameter(0.0)
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=1.0)
    optimizer.add_param_group({"params": c, "lr": 0.25, "weight_decay": 1.0})
    step(optimizer, 1.0, 1.0, 1.0)
    assert (a.item(), b.item(), c.item()) == (-1.0, -0.5, -0.25)
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0]


def test_named_parameters():
    layer = nn.Linear(1, 1)
    optimizer = optim.SGD(layer.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="names"):
        optimizer.add_param_group({"params": [parameter(0.0)]})


def test_a_parameter_without_gradient_is_left_alone():
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.Adam([a, b])
    step(optimizer, 1.0, None)
    assert b.item() == 1.0 and b not in optimizer.state and optimizer.state[a]["step"] == 1


def test_zero_grad():
    a = parameter(1.0)
    optimizer = optim.SGD([a])
    a.grad = tw.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.item() == 0
    optimizer.zero_grad()
    assert a.grad is None


def test_a_closure_runs_with_gradients():
    a = parameter(1.0)
    optimizer = optim.SGD([a], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with tw.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert a.item() == 0.0


def test_step_hooks():
    a, seen = parameter(1.0), []
    optimizer = optim.SGD([a], lr=1.0)
    handle = optimizer.register_step_pre_hook(lambda opt, args, kwargs: seen.append(a.item()))
    optimizer.register_step_post_hook(lambda opt, args, kwargs: seen.append(a.item()))
    step(optimizer, 1.0)
    handle.remove()
    step(optimizer, 1.0)
    assert seen == [1.0, 0.0, -1.0]


def test_state_hooks():
    optimizer = optim.SGD([parameter(1.0)])
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: {k: v for k, v in state.items() if k != "extra"})
    loaded = []
    optimizer.register_load_state_dict_post_hook(loaded.append)
    state = optimizer.state_dict()
    assert state["extra"] == 1
    optimizer.load_state_dict(state)
    assert loaded == [optimizer]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "LAMB", "Lion", "NAdam"])
def test_a_loaded_optimizer_goes_on_bit_for_bit(name):
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    a = parameter(1.0, -2.0)
    first = getattr(optim, name)([a], lr=0.1, **options)
    for grad in (0.3, -0.7):
        step(first, grad)
    b = nn.Parameter(a.detach().clone())
    second = getattr(optim, name)([b], lr=7.0, **options)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for grad in (0.2, 0.9):
        step(first, grad)
        step(second, grad)
    assert a.tolist() == b.tolist() and second.param_groups[0]["lr"] == 0.1


def test_loading_copies():
    a, b = parameter(1.0), parameter(1.0)
    first, second = optim.Adam([a]), optim.Adam([b])
    step(first, 1.0)
    second.load_state_dict(first.state_dict())
    step(second, 1.0)
    assert first.state[a]["step"] == 1 and second.state[b]["step"] == 2
    assert first.state[a]["exp_avg"].item() != second.state[b]["exp_avg"].item()


@pytest.mark.parametrize("dtype", [tw.float16, tw.bfloat16])
def test_wide_moments_of_a_narrow_parameter_keep_their_bits(dtype):  # cases.md U058
    fine = 1 + 2.0**-12  # lost in 16 bits

    def make():
        a = parameter(1.0, dtype=dtype)
        return a, optim.AdamW([a], lr=0.1, betas=(0.5, 0.5), eps=0.0, weight_decay=0.0)

    a, first = make()
    first.state[a] = {"step": 3, "exp_avg": tw.tensor([fine]), "exp_avg_sq": tw.tensor([fine])}
    saved = pickle.loads(pickle.dumps(first.state_dict()))
    b, second = make()
    second.load_state_dict(saved)
    state = second.state[b]
    assert state["exp_avg"].dtype == tw.float32 and state["exp_avg"].item() == fine
    assert type(state["step"]) is int and state["step"] == 3
    step(first, 0.25)
    step(second, 0.25)
    assert a.item() == b.item() != 1.0
    assert first.state[a]["exp_avg"].item() == second.state[b]["exp_avg"].item() == 0.5 * fine + 0.125


def test_a_step_count_that_was_saved_as_a_tensor_becomes_an_int():
    a = parameter(1.0)
    optimizer = optim.Adam([a])
    step(optimizer, 1.0)
    state = optimizer.state_dict()
    state["state"][0]["step"] = tw.tensor(5.0)
    optimizer.load_state_dict(state)
    assert type(optimizer.state[a]["step"]) is int and optimizer.state[a]["step"] == 5


def test_groups_of_other_sizes_are_refused_and_nothing_changes():
    a = parameter(1.0)
    optimizer = optim.SGD([a], lr=1.0)
    state = optim.SGD([parameter(1.0), parameter(1.0)], lr=2.0).state_dict()
    with pytest.raises(ValueError, match=r"groups of \[1\] parameters are wanted, got \[2\]"):
        optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == 1.0


def test_an_older_state_lacks_newer_options():
    optimizer = optim.SGD([parameter(1.0)], lr=1.0)
    state = optimizer.state_dict()
    del state["param_groups"][0]["nesterov"]
    optimizer.load_state_dict(state)
    step(optimizer, 1.0)
    assert optimizer.param_groups[0]["nesterov"] is False


def test_deep_copies_are_apart():
    model = nn.Linear(1, 1, bias=False)
    pair = copy.deepcopy((model, optim.Adam(model.parameters(), lr=0.5)))
    step(pair[1], 1.0)
    assert pair[0].weight.item() == pytest.approx(model.weight.item() - 0.5)


def test_a_rate_may_be_a_tensor():
    a = parameter(0.0)
    optimizer = optim.SGD([a], lr=tw.tensor(0.5))
    step(optimizer, 1.0)
    optimizer.param_groups[0]["lr"].fill_(0.25)
    step(optimizer, 1.0)
    assert a.item() == -0.75


def test_repr_lists_the_options():
    text = repr(optim.SGD([parameter(0.0)], lr=0.5))
    assert text.startswith("SGD (\nParameter Group 0\n") and "    lr: 0.5\n" in text


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: optim.SGD([]), ValueError, "at least one"),
        (lambda: optim.SGD(parameter(0.0)), TypeError, "iterable"),
        (lambda: optim.SGD([3.0]), TypeError, "tensors are wanted, got float"),
        (lambda: optim.SGD([{"params": {parameter(0.0)}}]), TypeError, "fixed order"),
        (lambda: optim.SGD([parameter(0.0) * 2]), ValueError, "leaf"),
        (lambda: optim.SGD([p := parameter(0.0), p]), ValueError, "twice"),
        (lambda: optim.SGD([{"params": (p := parameter(0.0))}, {"params": p}]), ValueError, "twice"),
    ],
)
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()
