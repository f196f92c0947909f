"""Formulas of saved graphs give what Python gives, or a ValueError where that is no number of 64 bits."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from thalweg._core._native import evaluate_formula
from thalweg.jit.numbers import Number, repr_number

OPERATORS = ["+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!="]
values = (
    st.integers(-6, 6) | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.sampled_from([0.5, -0.5, 1e-8, 0.9, 0.0])
)
leaves = st.sampled_from(["r[0]", "r[1]"]) | values.map(repr_number)

# Powers of powers are numbers that Python takes hours for.
powers = st.builds("({} ** {})".format, leaves, st.sampled_from(["0", "3", "(-2)", "0.5", "(-1.5)"]))


def grow(inner):
    return (
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner)
        | inner.map("(-{})".format)
        | st.builds("{}({})".format, st.sampled_from(["abs", "bool", "int", "float"]), inner)
    )


def value_in_python(formula, numbers):
    """None where the value, or that of a part, is not one of a program: complex, or an integer of more than 64 bits."""
    try:
        value = eval(formula, {"r": numbers})
    except (ArithmeticError, ValueError, TypeError):  # the last for what compares complex numbers
        return None
    return None if isinstance(value, complex) or (isinstance(value, int) and abs(value) >= 2**63) else value


@settings(max_examples=1000, deadline=None)
@given(st.recursive(leaves | powers, grow, max_leaves=6), values, values)
@example("(r[0] % r[1])", -7.5, 2)
@example("(r[0] // r[1])", 7, -2)
@example("((1 - (0.9 ** r[0])) / (1 - (0.999 ** r[0])))", 3, 0)
def test_formulas(formula, a, b):
    wanted = value_in_python(formula, [a, b])
    try:
        got = evaluate_formula(formula, [a, b])
    except ValueError as error:
        assert wanted is None or "beyond 64 bits" in str(error) or "complex" in str(error), error
        return
    assert wanted is None or type(got) is type(wanted)
    if wanted is not None:
        assert got == wanted or (math.isnan(got) and math.isnan(wanted))


@pytest.mark.parametrize(
    "formula", ["", "1 + 2", "(1 + 2", "(1+2)", "r[2]", "r[-1]", "x", "f(1)", "1.2.3", "-", "1e", "()"]
)
def test_other_texts_are_refused(formula):
    with pytest.raises(ValueError, match="formula"):
        evaluate_formula(formula, [1, 2])


def test_negative_numbers_are_bases_of_powers():
    power = (-0.5) ** Number(None, "r[0]", 2)
    assert power.value == 0.25 == evaluate_formula(power.text, [2]) == eval(power.text, {"r": [2]})
