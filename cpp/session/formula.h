// Arithmetic on the Python numbers of a program, in the text that the trace gives it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/scalar.h"

namespace tw::session {

// What Python would give for a text, where r[i] is numbers[i]: numbers, r[i], (a + b) with one of
// + - * / // % ** < <= > >= == !=, (-a), abs(a), bool(a), int(a), float(a), float("inf"). Every operation
// with two operands stands in parentheses.
class Formula {
 public:
  // clang-format off
  enum class Op : uint8_t {
    kRead, kLiteral, kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow,
    kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kUnequal,
    kNegate, kAbs, kBool, kInt, kFloat
  };
  // clang-format on
  // An operation on a stack of values.
  struct Instruction {
    Op op;
    size_t index = 0;     // of the number that kRead pushes
    Scalar literal = {};  // that kLiteral pushes
  };

  // Throws kValue for other texts, and for those that read a number beyond `number_count`.
  Formula(std::string_view text, size_t number_count);
  // Throws kValue for integers beyond 64 bits, divisions by zero and powers that are complex.
  Scalar evaluate(std::span<const Scalar> numbers) const;

 private:
  std::vector<Instruction> code_;  // operands before what works on them
};

inline Scalar evaluate_formula(std::string_view text, std::span<const Scalar> numbers) {
  return Formula(text, numbers.size()).evaluate(numbers);
}

}  // namespace tw::session
