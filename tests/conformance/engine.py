"""One op of the database through every check, in all its dtypes."""

import functools
import time

from . import checks, compiled, errors, grads, on_device, samples
from .compare import describe_call
from .convert import tensors_of
from .outcome import SKIP
from .result import Result, perform

GRADIENT = ("grad", "grad_noncontiguous", "grad_inplace", "gradgrad", "finite", "finite2")
FORWARD = checks.CHECKS | {"compiled": compiled.compiled}
ALL_CHECKS = (*FORWARD, *GRADIENT, "errors")
DIFFERENTIABLE = ("float32", "float64", "complex64", "complex128")


def _gradient_checks(op, dtype):
    """The gradient checks that apply to a dtype, as {name: function of a sample}."""
    if not op.supports_autograd or dtype not in DIFFERENTIABLE:
        return {}
    make = functools.partial(grads.run_op, op)

    def values(sample):
        """Whether torch's gradients can be compared in value: they may depend on what was drawn."""
        draw = checks.drawn(op, op.op, sample)
        return draw is None or draw.constant_gradient

    found = {"grad": lambda s: grads.first(make, s, values(s))}
    if op.supports_inplace_autograd and op.inplace_variant is not None:
        written = functools.partial(grads.run_in_place, op)
        found["grad_inplace"] = lambda s: SKIP if s.broadcasts_input else grads.first(written, s, values(s))
    if dtype == "float64":
        found["grad_noncontiguous"] = lambda s: grads.first(make, s.noncontiguous(), values(s))
        found["finite"] = lambda s: grads.finite(make, s, 1)
    if dtype in ("float64", "complex128") and op.supports_gradgrad:
        found["gradgrad"] = lambda s: grads.second(make, s, values(s))
        if dtype == "float64":
            found["finite2"] = lambda s: grads.finite(make, s, 2)
    return found


def checks_for(op, dtype, wanted=ALL_CHECKS):
    table = {k: functools.partial(fn, op) for k, fn in FORWARD.items()}
    table.update(_gradient_checks(op, dtype))
    return {k: fn for k, fn in table.items() if k in wanted}


def run(name, dtypes=samples.DTYPES, wanted=ALL_CHECKS):
    """Every sample of one op in the given dtypes, and its error inputs."""
    op = samples.database()[name]
    result = Result(name, samples.is_demanded(name))
    start = time.perf_counter()
    for dtype in samples.dtypes_of(op, dtypes):
        table = checks_for(op, dtype, wanted)
        given = samples.inputs(name, dtype)
        for index, sample in enumerate(given):
            tensors = tensors_of((sample.input, sample.args, sample.kwargs))
            if reason := on_device.left_out(index, len(given), tensors):
                result.skip(reason)
            elif not result.missing:
                perform(result, dtype, index, sample, table, describe_call, "value")
    if "errors" in wanted and not result.missing:
        table = {"errors": functools.partial(errors.error_input, op)}
        for index, case in enumerate(samples.error_inputs(name)):
            perform(result, "-", index, case, table, lambda c: describe_call(c.sample_input), "errors")
    result.seconds = time.perf_counter() - start
    return result
