"""What the tests of the tape begin with."""

import thalweg as tw


def leaf(*values, dtype=tw.float64):
    """A leaf of these values that wants a gradient."""
    return tw.tensor(values, dtype=dtype, requires_grad=True)
