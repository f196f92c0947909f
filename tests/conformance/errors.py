"""Inputs that torch refuses must be refused: with a Python exception of the right family, not a wrong result."""

from .outcome import SKIP, accepted
from .sides import THALWEG, TORCH


def error_input(op, case):
    """None when thalweg refuses the case, else a sentence. A case that torch accepts on the CPU is skipped."""
    input, args, kwargs, _ = TORCH.inputs(case.sample_input)
    try:
        if TORCH.call(op.op, input, args, kwargs) is not NotImplemented:
            return SKIP
    except AttributeError:  # a method called on a number: says nothing about the op
        return SKIP
    except Exception:
        pass
    fn = THALWEG.function(op)
    input, args, kwargs, _ = THALWEG.inputs(case.sample_input)
    try:
        got = THALWEG.call(fn, input, args, kwargs)
    except Exception as e:
        return accepted(e)
    if got is NotImplemented:  # what a reflected operator says before Python raises TypeError
        return None
    return f"torch raises {case.error_type.__name__} ({str(case.error_regex)[:120]}), got {type(got).__name__} instead"
