"""What a check may say: None (agrees), SKIP, a sentence on what differs, or Rejected (torch refuses the sample)."""

import thalweg as tw

from .names import is_missing

SKIP = object()
ALLOWED = (ValueError, TypeError, IndexError, RuntimeError, NotImplementedError, OverflowError)


class Rejected(Exception):
    """torch itself does not accept the sample."""


def first_line(error):
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text[:300]}"


def accepted(error):
    """None when the exception tells the user of a mistake; a broken invariant or a missing name does not."""
    internal = getattr(tw, "InternalError", None)
    if is_missing(error):
        raise error
    if isinstance(error, ALLOWED) and not (internal and isinstance(error, internal)):
        return None
    return f"wants a ValueError, TypeError, IndexError or RuntimeError, got {type(error).__name__}: {str(error)[:200]}"
