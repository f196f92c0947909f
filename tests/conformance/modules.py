"""torch's module database: same parameters, same state, same results and gradients, same refusals."""

import functools
import time
import warnings

import torch

from . import grads, names
from .compare import compare, describe
from .compiled import difference_of, replaced, same_as_eager, with_gradients
from .convert import rebuild, tensors_of, tw_dtype
from .demanded import MODULES
from .outcome import SKIP, Rejected, accepted, first_line
from .result import Result, perform
from .sides import THALWEG, TORCH

CHECKS = ("state", "forward", "buffers", "compiled", "grad", "gradgrad", "errors")
DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
_SEED = 20261


@functools.cache
def database():
    """Entries by name (`nn.Linear`); the lazy ones are the plain ones with a late shape and are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return {info.name: info for info in module_db if not info.is_lazy}


class Case:
    """One construction and one call. The state is torch's, drawn once, so that both sides compute the same thing."""

    def __init__(self, info, dtype, training, given, state=None):
        self.info, self.dtype, self.training, self.given, self.state = info, dtype, training, given, state
        self.input = given.forward_input.args if given.forward_input is not None else ()
        self.args, self.kwargs = (), given.forward_input.kwargs if given.forward_input is not None else {}
        if state is None:
            torch.manual_seed(_SEED)
            module = construct(TORCH, self)
            self.state = {k: v.detach().clone() for k, v in module.state_dict().items()}

    def widened(self):
        """The same case in float64 (complex128), for a result that is exact beside this dtype's."""
        to = torch.complex128 if self.dtype.is_complex else torch.float64

        def leaf(x):
            inexact = isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())
            return x.detach().to(to).requires_grad_(x.requires_grad) if inexact else x

        given = type(self.given)(
            _rebuilt(self.given.constructor_input, leaf), _rebuilt(self.given.forward_input, leaf), self.given.desc
        )
        return Case(self.info, to, self.training, given, rebuild(self.state, leaf))

    def describe(self):
        def call(given):
            parts = [describe(a) for a in given.args] + [f"{k}={describe(v)}" for k, v in given.kwargs.items()]
            return f"({', '.join(parts)})"

        forward = call(self.given.forward_input) if self.given.forward_input is not None else ""
        return f"{call(self.given.constructor_input)}{forward} {'train' if self.training else 'eval'}"


def _rebuilt(given, leaf):
    return type(given)(*rebuild(given.args, leaf), **rebuild(given.kwargs, leaf))


def construct(side, case):
    """The module as its class makes it, in the case's dtype and mode."""
    given = case.given.constructor_input
    args, kwargs = side.converter()((given.args, given.kwargs))
    cls = case.info.module_cls if side.is_torch else names.retarget(case.info.module_cls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = cls(*args, **kwargs)
    return module.to(case.dtype if side.is_torch else tw_dtype(case.dtype)).train(case.training)


def build(side, case):
    """The module with the case's state."""
    module = construct(side, case)
    module.load_state_dict(side.converter()(case.state))
    return module


def forward(side, case, seed=42):
    """(module, result, memo) of a call."""
    module = build(side, case)
    convert = side.converter()
    args, kwargs = convert((case.input, case.kwargs))
    result = side.call(lambda _: module(*args, **kwargs), None, (), {}, seed)
    return module, result, convert.memo


def _torch_forward(case, seed=42):
    try:
        return forward(TORCH, case, seed)
    except Exception as e:
        raise Rejected(first_line(e)) from None


def _exact(case):
    cache = []

    def result():
        if not cache:
            try:
                cache.append(forward(TORCH, case.widened())[1])
            except Exception:
                cache.append(None)
        return cache[0]

    return result


def _drawn(case):
    """Whether the result depends on the seed."""
    one, two = (tensors_of(_torch_forward(case, seed)[1]) for seed in (42, 7))
    return any(not torch.equal(a.detach(), b.detach()) and not bool(a.isnan().any()) for a, b in zip(one, two))


def state(case):
    """Names, order, shapes and dtypes of the state dict of a newly made module."""
    made = construct(THALWEG, case).state_dict()
    if list(made) != list(case.state):
        return f"state_dict: want {list(case.state)}, got {list(made)}"
    return compare(case.state, dict(made), values=False)


def output(case):
    _, want, _ = _torch_forward(case)
    _, got, _ = forward(THALWEG, case)
    return compare(want, got, _exact(case), values=not _drawn(case))


def buffers(case):
    """The state after a call (running statistics, counters)."""
    if not case.state:
        return SKIP
    want = _torch_forward(case)[0].state_dict()
    got = forward(THALWEG, case)[0].state_dict()
    return compare({k: v.detach() for k, v in want.items()}, dict(got), values=not _drawn(case))


def compiled(case):
    """`tw.jit` of the call and of its gradient: results, gradients and state, bit for bit those of eager mode."""
    try:
        eager, static = (build(THALWEG, case) for _ in range(2))
        call = THALWEG.converter()((case.input, case.kwargs))
    except Exception as e:  # what the check `forward` speaks of
        raise Rejected(first_line(e)) from None
    tensors = tensors_of(call)

    def run_of(module):
        def run(*given):
            args, kwargs = replaced(call, tensors, given)
            return with_gradients(module(*args, **kwargs), [*given, *module.parameters()])

        return run

    message = same_as_eager(run_of(eager), run_of(static), tensors)
    if message:
        return message
    states = zip(eager.state_dict().items(), static.state_dict().values())
    differing = [f"{name}: {text}" for (name, a), b in states if (text := difference_of(a, b))]
    return differing[0] if differing else None


def _run(side, case):
    module, result, memo = forward(side, case)
    inputs = [memo[id(t)] for t in tensors_of((case.input, case.kwargs)) if t.requires_grad]
    return grads.Run(side, inputs + list(module.parameters()), result)


def _gradient(fn, case):
    return SKIP if _drawn(case) else fn(_run, case)


def error_case(case):
    """The construction or the call that torch refuses."""
    try:
        _attempt(TORCH, case)
        return SKIP
    except Exception as e:
        reason = first_line(e)
    try:
        _attempt(THALWEG, case)
    except Exception as e:
        return accepted(e)
    return f"torch raises ({reason}), thalweg does not"


def _attempt(side, case):
    module = construct(side, case)
    if case.given.forward_input is not None:
        args, kwargs = side.converter()((case.input, case.kwargs))
        module(*args, **kwargs)


class _ErrorCase(Case):
    """No state is drawn: the construction itself may be what fails."""

    def __init__(self, info, dtype, training, given):
        super().__init__(info, dtype, training, given, state={})


def _table(info, dtype, wanted):
    table = {"forward": output, "state": state, "buffers": buffers, "compiled": compiled}
    if dtype not in ("float16", "bfloat16"):
        table["grad"] = functools.partial(_gradient, grads.first)
    if dtype == "float64" and info.supports_gradgrad:
        table["gradgrad"] = functools.partial(_gradient, grads.second)
    return {k: fn for k, fn in table.items() if k in wanted}


def _modes(info):
    return (True, False) if info.train_and_eval_differ else (True,)


def _given(make, info, dtype, training):
    torch.manual_seed(_SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(make(info, "cpu", dtype, requires_grad=True, training=training))


def run(name, dtypes=(), wanted=CHECKS):
    """Every input of one module, in each dtype and mode, and its error inputs."""
    info = database()[name]
    result = Result(name, name in MODULES)
    start = time.perf_counter()
    for dtype in [d for d in DTYPES if getattr(torch, d) in info.dtypes and d in (dtypes or DTYPES)]:
        kind = getattr(torch, dtype)
        cases = [Case(info, kind, t, g) for t in _modes(info) for g in _given(info.module_inputs_func, info, kind, t)]
        for index, case in enumerate(cases):
            if not result.missing:
                perform(result, dtype, index, case, _table(info, dtype, wanted), Case.describe, "forward")
    if info.module_error_inputs_func and "errors" in wanted and not result.missing:
        given = _given(info.module_error_inputs_func, info, torch.float32, True)
        for index, error in enumerate(given):
            case = _ErrorCase(info, torch.float32, True, error.module_error_input)
            perform(result, "-", index, case, {"errors": error_case}, Case.describe, "errors")
    result.seconds = time.perf_counter() - start
    return result
