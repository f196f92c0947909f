"""Names that need not be offered, whose failures are known, and why they fail."""

FAILURES = {
    "chalf": "there is no complex32",
    "polygamma": "infinite at negative whole numbers, its poles, where torch divides by a rounded sine",
}


def name_of(unit):
    """The name among FAILURES that an op or a variant of it (special.polygamma.special_polygamma_n_0) has, or None."""
    return next((part for part in unit.split(".") if part in FAILURES), None)
