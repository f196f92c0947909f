"""Inputs that torch refuses must be refused: with a Python exception of the right family, not a wrong result."""

import thalweg as tw

from .names import is_missing
from .sides import THALWEG

ALLOWED = (ValueError, TypeError, IndexError, RuntimeError, NotImplementedError, OverflowError)


def accepted(error):
    """None when the exception tells the user of a mistake; a broken invariant or a missing name does not."""
    internal = getattr(tw, "InternalError", None)
    if is_missing(error):
        raise error
    if isinstance(error, ALLOWED) and not (internal and isinstance(error, internal)):
        return None
    return f"wants a ValueError, TypeError, IndexError or RuntimeError, got {type(error).__name__}: {str(error)[:200]}"


def error_input(op, case):
    """None when thalweg refuses the case, else a sentence."""
    fn = THALWEG.function(op)
    input, args, kwargs, _ = THALWEG.inputs(case.sample_input)
    try:
        got = THALWEG.call(fn, input, args, kwargs)
    except Exception as e:
        return accepted(e)
    return f"torch raises {case.error_type.__name__} ({str(case.error_regex)[:120]}), got {type(got).__name__} instead"
