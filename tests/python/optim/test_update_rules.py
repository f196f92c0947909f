"""Every optimizer's update rule against the same rule in NumPy, over several steps and all options."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import optim

STEPS = 6
RNG = np.random.default_rng(0)
START = [RNG.normal(size=(3, 2)), RNG.normal(size=4)]
GRADS = [[RNG.normal(size=p.shape) for p in START] for _ in range(STEPS)]


def sgd(p, g, s, t, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False):
    g = g + weight_decay * p
    if momentum:
        s["v"] = g if t == 1 else momentum * s["v"] + (1 - dampening) * g
        g = g + momentum * s["v"] if nesterov else s["v"]
    return p - lr * g


def moments(g, s, beta1, beta2):
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g**2
    return s["m"], s["v"]


def adam(
    p, g, s, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, decoupled_weight_decay=False
):
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    m, v = moments(g, s, *betas)
    s["max"] = np.maximum(s.get("max", 0), v)
    root = np.sqrt((s["max"] if amsgrad else v) / (1 - betas[1] ** t))
    return p - lr * m / (1 - betas[0] ** t) / (root + eps)


def adamw(p, g, s, t, weight_decay=0.01, **options):
    return adam(p, g, s, t, weight_decay=weight_decay, decoupled_weight_decay=True, **options)


def adagrad(p, g, s, t, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10):
    g = g + weight_decay * p
    s["sum"] = s.get("sum", initial_accumulator_value) + g**2
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["sum"]) + eps)


def rmsprop(p, g, s, t, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False):
    g = g + weight_decay * p
    s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g**2
    s["m"] = alpha * s.get("m", 0) + (1 - alpha) * g
    root = np.sqrt(s["v"] - s["m"] ** 2 if centered else s["v"]) + eps
    s["b"] = momentum * s.get("b", 0) + g / root
    return p - lr * s["b"]


def adadelta(p, g, s, t, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
    g = g + weight_decay * p
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g**2
    d = np.sqrt(s.get("u", 0) + eps) / np.sqrt(s["v"] + eps) * g
    s["u"] = rho * s.get("u", 0) + (1 - rho) * d**2
    return p - lr * d


def adamax(p, g, s, t, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
    g = g + weight_decay * p
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["u"] = np.maximum(betas[1] * s.get("u", 0), np.abs(g) + eps)
    return p - lr / (1 - betas[0] ** t) * s["m"] / s["u"]


def nadam(p, g, s, t, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3):
    g = g + weight_decay * p
    m, v = moments(g, s, *betas)
    mu, following = (betas[0] * (1 - 0.96 ** (k * momentum_decay) / 2) for k in (t, t + 1))
    s["product"] = s.get("product", 1) * mu
    mean = following * m / (1 - s["product"] * following) + (1 - mu) * g / (1 - s["product"])
    return p - lr * mean / (np.sqrt(v / (1 - betas[1] ** t)) + eps)


def radam(p, g, s, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
    g = g + weight_decay * p
    m, v = moments(g, s, *betas)
    m = m / (1 - betas[0] ** t)
    longest = 2 / (1 - betas[1]) - 1
    length = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
    if length <= 5:
        return p - lr * m
    r = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    return p - lr * m * r * math.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)


def lamb(p, g, s, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0):
    m, v = moments(g, s, *betas)
    u = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps) + weight_decay * p
    return p - lr * np.linalg.norm(p) / np.linalg.norm(u) * u


def lion(p, g, s, t, lr=1e-4, betas=(0.9, 0.99), weight_decay=0):
    m = s.get("m", 0)
    s["m"] = betas[1] * m + (1 - betas[1]) * g
    return p - lr * (np.sign(betas[0] * m + (1 - betas[0]) * g) + weight_decay * p)


def asgd(p, g, s, t, lr=1e-2, lambd=1e-4, alpha=0.75, weight_decay=0):
    eta = lr / (1 + lambd * lr * (t - 1)) ** alpha
    return p * (1 - lambd * eta) - eta * (g + weight_decay * p)


def rprop(p, g, s, t, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    agreement = np.sign(g * s.get("g", 0))
    factor = np.where(agreement > 0, etas[1], np.where(agreement < 0, etas[0], 1))
    s["size"] = np.clip(s.get("size", lr) * factor, *step_sizes)
    s["g"] = np.where(agreement < 0, 0, g)
    return p - s["size"] * np.sign(s["g"])


CASES = [
    ("SGD", sgd, [{}, {"momentum": 0.9, "dampening": 0.1}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}]),
    ("Adam", adam, [{}, {"amsgrad": True, "weight_decay": 0.1}, {"decoupled_weight_decay": True, "weight_decay": 0.1}]),
    ("AdamW", adamw, [{}, {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True, "eps": 1e-3}]),
    ("Adagrad", adagrad, [{}, {"lr_decay": 0.3, "weight_decay": 0.1, "initial_accumulator_value": 0.5}]),
    ("RMSprop", rmsprop, [{}, {"momentum": 0.9, "centered": True}, {"centered": True, "weight_decay": 0.1}]),
    ("Adadelta", adadelta, [{}, {"rho": 0.5, "weight_decay": 0.1}]),
    ("Adamax", adamax, [{}, {"weight_decay": 0.1}]),
    ("NAdam", nadam, [{}, {"weight_decay": 0.1, "momentum_decay": 0.1}]),
    ("RAdam", radam, [{}, {"betas": (0.9, 0.8), "weight_decay": 0.1}]),
    ("LAMB", lamb, [{}, {"lr": 0.1, "weight_decay": 0.1}]),
    ("Lion", lion, [{}, {"lr": 0.1, "weight_decay": 0.1}]),
    ("ASGD", asgd, [{}, {"lambd": 0.1, "weight_decay": 0.1}]),
    ("Rprop", rprop, [{}, {"etas": (0.3, 1.5), "step_sizes": (0.008, 0.02)}]),
]


def train(name, options):
    params = [tw.tensor(p, requires_grad=True) for p in START]
    optimizer = getattr(optim, name)(params, **options)
    for grads in GRADS:
        for param, grad in zip(params, grads):
            param.grad = tw.tensor(grad)
        optimizer.step()
    return [p.detach().numpy() for p in params]


def expect(rule, options, sign=1):
    result = []
    for i, p in enumerate(START):
        state = {}
        for t, grads in enumerate(GRADS, 1):
            p = rule(p, sign * grads[i], state, t, **options)
        result.append(p)
    return result


@pytest.mark.parametrize(("name", "rule", "options"), [(n, r, o) for n, r, options in CASES for o in options])
def test_rule(name, rule, options):
    for got, wanted in zip(train(name, options), expect(rule, options)):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "rule"), [case[:2] for case in CASES])
def test_maximize_ascends(name, rule):
    for got, wanted in zip(train(name, {"maximize": True}), expect(rule, {}, sign=-1)):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [case[0] for case in CASES if case[0] != "LAMB"])
def test_complex_parameters_are_pairs_of_reals(name):
    start, grad = RNG.normal(size=(5, 2)), RNG.normal(size=(STEPS, 5, 2))
    pair = tw.tensor(start, requires_grad=True)
    whole = tw.tensor(start[:, 0] + 1j * start[:, 1], requires_grad=True)
    first, second = getattr(optim, name)([pair]), getattr(optim, name)([whole])
    for g in grad:
        pair.grad, whole.grad = tw.tensor(g), tw.tensor(g[:, 0] + 1j * g[:, 1])
        first.step()
        second.step()
    got = whole.detach().numpy()
    np.testing.assert_allclose(np.stack([got.real, got.imag], 1), pair.detach().numpy(), rtol=1e-9)


def test_lamb_leaves_a_zero_parameter_its_own_scale():
    weight = tw.zeros(2, requires_grad=True)
    weight.grad = tw.ones(2)
    optim.LAMB([weight], lr=0.5).step()
    np.testing.assert_allclose(weight.detach().numpy(), [-0.5, -0.5], rtol=1e-5)


def test_asgd_averages_after_t0():
    weight = tw.zeros(1, requires_grad=True)
    optimizer, seen = optim.ASGD([weight], lr=0.1, lambd=0, t0=2), []
    for _ in range(5):
        weight.grad = tw.ones(1)
        optimizer.step()
        seen.append(weight.item())
    # Steps 1 to 3 follow the parameter, then the average takes it in with weights 1, 1/2.
    expected = seen[3]
    expected += (seen[4] - expected) / 2
    assert optimizer.state[weight]["ax"].item() == pytest.approx(expected)


BAD = [
    ("SGD", {"lr": -1}), ("SGD", {"momentum": -1}), ("SGD", {"nesterov": True}), ("Adam", {"betas": (1.0, 0.9)}),
    ("Adam", {"eps": -1}), ("Adam", {"foreach": True, "fused": True}), ("AdamW", {"weight_decay": -1}),
    ("Adagrad", {"lr_decay": -1}), ("RMSprop", {"alpha": -1}), ("Adadelta", {"rho": 1.1}), ("Adamax", {"lr": -1}),
    ("NAdam", {"momentum_decay": -1}), ("RAdam", {"betas": (0.1, -1.0)}), ("LAMB", {"eps": -1}), ("Lion", {"lr": -1}),
    ("Rprop", {"etas": (1.1, 1.2)}), ("SGD", {"lr": tw.ones(2)}), ("Adam", {"differentiable": True}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), BAD)
def test_bad_options(name, options):
    with pytest.raises(ValueError, match=name):
        getattr(optim, name)([tw.zeros(1, requires_grad=True)], **options)
