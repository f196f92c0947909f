"""torch's optimizer database: the same parameters after the same gradients, the same state, the same refusals."""

import functools
import time
import warnings

import numpy as np
import torch

from . import names
from .compare import compare, describe
from .demanded import OPTIMIZERS
from .names import retarget
from .outcome import SKIP, Rejected, accepted, first_line
from .result import Result, perform
from .sides import THALWEG, TORCH

CHECKS = ("steps", "state", "groups", "resume", "schedulers", "implementations", "errors")
DTYPES = ("float32", "float64")
STEPS = 6
_SHAPES = ((3, 4), (5, 2), (4, 4))
_SEED = 20262


@functools.cache
def database():
    """Entries by class name; SparseAdam takes sparse gradients only and is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_optimizers import optim_db
    return {info.name: info for info in optim_db if not info.only_supports_sparse_grads}


class Case:
    """One set of options of one optimizer."""

    def __init__(self, info, dtype, given):
        self.info, self.dtype, self.given = info, dtype, given

    def describe(self):
        return ", ".join(f"{k}={describe(v)}" for k, v in self.given.kwargs.items())


def _values(step):
    rng = np.random.default_rng(_SEED + step)
    return [rng.standard_normal(shape) for shape in _SHAPES]


class Training:
    """Parameters and an optimizer in one framework, with gradients that depend on the step alone."""

    def __init__(self, side, case, groups=False, **extra):
        self.side, self.case, self.step_count = side, case, 0
        self.params = [self._tensor(v).requires_grad_(True) for v in _values(0)]
        cls = case.info.optim_cls if side.is_torch else retarget(case.info.optim_cls)
        kwargs = side.converter()(dict(case.given.kwargs, **extra))
        given = self.params
        if groups:
            given = [{"params": self.params[:1], "lr": 0.02}, {"params": self.params[1:]}]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.optimizer = cls(given, **kwargs)

    def _tensor(self, values):
        return self.side.converter()(torch.as_tensor(values).to(self.case.dtype))

    def step(self):
        self.step_count += 1
        targets = [self._tensor(v) for v in _values(self.step_count)]

        def closure():
            self.optimizer.zero_grad()
            loss = sum(((p - t) ** 2).sum() for p, t in zip(self.params, targets))
            loss.backward()
            return loss

        if self.case.info.step_requires_closure:
            return self.optimizer.step(closure)
        closure()
        return self.optimizer.step()

    def run(self, steps=STEPS):
        for _ in range(steps):
            self.step()
        return self

    def values(self):
        return [p.detach() for p in self.params]


def _torch(case, **kwargs):
    try:
        return Training(TORCH, case, **kwargs)
    except Exception as e:
        raise Rejected(first_line(e)) from None


def steps(case):
    """Parameters after each step."""
    theirs, ours = _torch(case), Training(THALWEG, case)
    for number in range(STEPS):
        theirs.step(), ours.step()
        message = compare(theirs.values(), ours.values(), factor=10.0)
        if message:
            return f"after step {number + 1}: {message}"
    return None


def _plain_state(training):
    """The state dict with the parameters' state by name; LBFGS's history is compared through its steps alone."""
    whole = training.optimizer.state_dict()
    return {k: {n: _number(x) for n, x in v.items()} for k, v in whole["state"].items() if v}, whole["param_groups"]


def _number(value):
    """Counters are 0-dim tensors in torch and Python numbers here: both as floats."""
    scalar = isinstance(value, int) or getattr(value, "ndim", None) == 0
    return float(value) if scalar else value


def state(case):
    """The state dict after some steps: same names, same values; options of groups that torch documents."""
    if case.info.step_requires_closure:
        return SKIP
    (want, groups), (got, our_groups) = (_plain_state(Training(s, case).run(3)) for s in (TORCH, THALWEG))
    message = compare(want, got, factor=10.0)
    if message:
        return f"state: {message}"
    for theirs, ours in zip(groups, our_groups):
        lost = set(theirs) - set(ours) - {"foreach", "fused", "capturable", "differentiable"}
        if lost or ours["params"] != theirs["params"]:
            return f"param_groups: want {sorted(theirs)}, got {sorted(ours)}, params {ours['params']}"
    return None


def groups(case):
    """Two groups with different rates."""
    if not case.info.supports_param_groups:
        return SKIP
    theirs, ours = _torch(case, groups=True).run(), Training(THALWEG, case, groups=True).run()
    return compare(theirs.values(), ours.values(), factor=10.0)


def _first_lost(side, case):
    """The index of a parameter that a reloaded optimizer moves differently, or None."""
    straight, other, fresh = Training(side, case).run(2), Training(side, case).run(2), Training(side, case)
    with side.no_grad():
        for p, q in zip(fresh.params, other.params):
            p.copy_(q)
    fresh.optimizer.load_state_dict(other.optimizer.state_dict())
    fresh.step_count = other.step_count
    straight.run(2), fresh.run(2)
    for i, (a, b) in enumerate(zip(straight.values(), fresh.values())):
        if not np.array_equal(a.numpy(), b.numpy(), equal_nan=True):
            return i
    return None


def resume(case):
    """A new optimizer with the saved state goes on as the old one would, to the bit (where torch's does)."""
    if _first_lost(TORCH, case) is not None:
        return SKIP
    lost = _first_lost(THALWEG, case)
    return None if lost is None else f"parameter {lost} differs after load_state_dict"


def schedulers(case):
    """The database's schedulers: rates and parameters over some steps."""
    for makers in case.info.scheduler_inputs:
        theirs, ours = _torch(case), Training(THALWEG, case)
        chains = [make(theirs.optimizer) for make in makers], [retarget(make)(ours.optimizer) for make in makers]
        for number in range(2 * STEPS):
            for training, chain in zip((theirs, ours), chains):
                training.step()
                for scheduler in chain:
                    plateau = type(scheduler).__name__ == "ReduceLROnPlateau"
                    scheduler.step(1.0) if plateau else scheduler.step()
            rates = [[float(g["lr"]) for g in t.optimizer.param_groups] for t in (theirs, ours)]
            # torch keeps a rate given as a float32 tensor in float32.
            rounded = any(isinstance(g["lr"], torch.Tensor) for g in theirs.optimizer.param_groups)
            if not np.allclose(*rates, rtol=1e-6 if rounded else 1e-12, atol=0):
                kinds = [type(s).__name__ for s in chains[0]]
                return f"{kinds} after step {number + 1}: lr want {rates[0]}, got {rates[1]}"
        message = compare(theirs.values(), ours.values(), factor=10.0)
        if message:
            return message
    return None


def implementations(case):
    """The flags that choose an implementation change nothing in the result."""
    flags = [f for f in ("foreach", "fused") if f in case.info.supported_impls]
    flags = [f for f in flags if f != "fused" or "cpu" in case.info.supports_fused_on]
    for flag in flags:
        theirs, ours = _torch(case, **{flag: True}).run(3), Training(THALWEG, case, **{flag: True}).run(3)
        message = compare(theirs.values(), ours.values(), factor=10.0)
        if message:
            return f"{flag}=True: {message}"
    return None if flags else SKIP


def _attempt(side, case):
    given, convert = case.given, side.converter()
    params = convert(given.params) if given.params is not None else convert([torch.zeros(2, 2, requires_grad=True)])
    cls = case.info.optim_cls if side.is_torch else names.retarget(case.info.optim_cls)
    optimizer = cls(params, **convert(dict(given.kwargs)))
    optimizer.step(lambda: 0.0) if case.info.step_requires_closure else optimizer.step()


def error_case(case):
    """Options that torch refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _attempt(TORCH, case)
        return SKIP
    except Exception as e:
        reason = first_line(e)
    try:
        _attempt(THALWEG, case)
    except Exception as e:
        return accepted(e)
    return f"torch raises ({reason}), thalweg does not"


TABLE = {
    "steps": steps,
    "state": state,
    "groups": groups,
    "resume": resume,
    "schedulers": schedulers,
    "implementations": implementations,
}


def run(name, dtypes=(), wanted=CHECKS):
    """Every set of options of one optimizer, in each dtype, and its error inputs."""
    info = database()[name]
    result = Result(name, name in OPTIMIZERS)
    start = time.perf_counter()
    table = {k: fn for k, fn in TABLE.items() if k in wanted}
    for dtype in [d for d in DTYPES if d in (dtypes or DTYPES)]:
        for index, given in enumerate(info.optim_inputs_func("cpu")):
            case = Case(info, getattr(torch, dtype), given)
            if not result.missing:
                perform(result, dtype, index, case, table, Case.describe, "steps")
    if info.optim_error_inputs_func and "errors" in wanted and not result.missing:
        for index, error in enumerate(info.optim_error_inputs_func("cpu", torch.float32)):
            case = Case(info, torch.float32, error.optimizer_error_input)
            perform(result, "-", index, case, {"errors": error_case}, Case.describe, "errors")
    result.seconds = time.perf_counter() - start
    return result
