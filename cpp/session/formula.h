// Arithmetic on the Python numbers of a program, in the text that the trace gives it.
#pragma once

#include <span>
#include <string_view>

#include "base/scalar.h"

namespace tw::session {

// What Python would give for `formula`, where r[i] is numbers[i]: numbers, r[i], (a + b) with one of
// + - * / // % ** < <= > >= == !=, (-a), abs(a), bool(a), int(a), float(a), float("inf"). Every operation
// with two operands stands in parentheses. Throws kValue for other texts, integers beyond 64 bits, divisions
// by zero and powers that are complex.
Scalar evaluate_formula(std::string_view formula, std::span<const Scalar> numbers);

}  // namespace tw::session
