#include "session/formula.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/small_vector.h"

namespace tw::session {

namespace {

using Op = Formula::Op;

constexpr int kDeepest = 200;

Scalar integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  bool overflow = false;
  for (; exponent && !overflow; exponent >>= 1) {
    if (exponent & 1) overflow |= __builtin_mul_overflow(result, base, &result);
    if (exponent > 1) overflow |= __builtin_mul_overflow(base, base, &base);
  }
  TW_CHECK(!overflow, kValue, "formula: the power is beyond 64 bits");
  return result;
}

Scalar integers(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == Op::kAdd) overflow = __builtin_add_overflow(a, b, &result);
  if (op == Op::kSub) overflow = __builtin_sub_overflow(a, b, &result);
  if (op == Op::kMul) overflow = __builtin_mul_overflow(a, b, &result);
  if (op == Op::kPow) return integer_power(a, b);
  if (op == Op::kFloorDiv || op == Op::kMod) {
    if (b == -1) {
      overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
      if (op == Op::kMod) return int64_t{0};
    } else {
      int64_t rest = a % b;
      bool below = rest && (rest < 0) != (b < 0);
      result = op == Op::kMod ? rest + (below ? b : 0) : a / b - below;
    }
  }
  TW_CHECK(!overflow, kValue, "formula: the result is beyond 64 bits");
  return result;
}

// As Python rounds: the quotient comes from the exact remainder.
double floored(Op op, double a, double b) {
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  } else if (rest == 0) {
    rest = std::copysign(0.0, b);
  }
  if (op == Op::kMod) return rest;
  double down = std::floor(quotient);
  return quotient == 0 ? std::copysign(0.0, a / b) : quotient - down > 0.5 ? down + 1 : down;
}

double floats(Op op, double a, double b) {
  if (op == Op::kAdd) return a + b;
  if (op == Op::kSub) return a - b;
  if (op == Op::kMul) return a * b;
  if (op == Op::kDiv) return a / b;
  if (op != Op::kPow) return floored(op, a, b);
  TW_CHECK(a >= 0 || std::isnan(a) || std::floor(b) == b, kValue, "formula: the power is complex");
  return std::pow(a, b);
}

bool compare(Op op, const Scalar& a, const Scalar& b) {
  auto order = [&](auto x, auto y) {
    return op == Op::kLess           ? x < y
           : op == Op::kLessEqual    ? x <= y
           : op == Op::kGreater      ? x > y
           : op == Op::kGreaterEqual ? x >= y
           : op == Op::kEqual        ? x == y
                                     : x != y;
  };
  bool whole = a.is_integral() && b.is_integral();
  return whole ? order(a.to_int(), b.to_int()) : order(a.to_double(), b.to_double());
}

Scalar binary(Op op, const Scalar& a, const Scalar& b) {
  if (op >= Op::kLess) return compare(op, a, b);
  bool divides = op == Op::kDiv || op == Op::kFloorDiv || op == Op::kMod;
  TW_CHECK(!divides || b.to_double() != 0, kValue, "formula: a division by zero");
  TW_CHECK(op != Op::kPow || a.to_double() != 0 || b.to_double() >= 0, kValue,
           "formula: a negative power of zero");
  bool whole = a.is_integral() && b.is_integral() && op != Op::kDiv && !(op == Op::kPow && b.to_int() < 0);
  if (whole) return integers(op, a.to_int(), b.to_int());
  return floats(op, a.to_double(), b.to_double());
}

Scalar negated(const Scalar& a) {
  return a.is_integral() ? integers(Op::kSub, 0, a.to_int()) : Scalar(-a.to_double());
}

Scalar unary(Op op, const Scalar& a) {
  if (op == Op::kNegate) return negated(a);
  if (op == Op::kBool) return a.to_bool();
  if (op == Op::kFloat) return a.to_double();
  if (op == Op::kAbs && !a.is_integral()) return std::abs(a.to_double());
  if (op == Op::kAbs) return a.to_int() < 0 ? negated(a) : Scalar(a.to_int());
  TW_CHECK(a.is_integral() || std::abs(a.to_double()) < 9e18, kValue, "formula: an integer beyond 64 bits");
  return a.to_int();
}

// Longer signs before those that they begin with.
constexpr std::pair<std::string_view, Op> kSigns[] = {
    {"** ", Op::kPow},   {"// ", Op::kFloorDiv}, {"<= ", Op::kLessEqual}, {">= ", Op::kGreaterEqual},
    {"== ", Op::kEqual}, {"!= ", Op::kUnequal},  {"+ ", Op::kAdd},        {"- ", Op::kSub},
    {"* ", Op::kMul},    {"/ ", Op::kDiv},       {"% ", Op::kMod},        {"< ", Op::kLess},
    {"> ", Op::kGreater}};
constexpr std::pair<std::string_view, Op> kFunctions[] = {
    {"abs(", Op::kAbs}, {"bool(", Op::kBool}, {"int(", Op::kInt}, {"float(", Op::kFloat}};

class Parser {
 public:
  Parser(std::string_view text, size_t number_count, std::vector<Formula::Instruction>* code)
      : text_(text), number_count_(number_count), code_(*code) {}

  void whole() {
    operand(0);
    if (at_ < text_.size()) fail("the end");
  }

 private:
  [[noreturn]] void fail(const char* wanted) const {
    TW_FAIL(kValue, "formula: ", wanted, " is wanted at byte ", at_, " of ", text_);
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word, const char* wanted) {
    if (!take(word)) fail(wanted);
  }
  void add(Op op) { code_.push_back({op}); }
  void add(const Scalar& literal) { code_.push_back({Op::kLiteral, 0, literal}); }

  void operand(int depth) {
    if (depth > kDeepest) fail("less nesting");
    if (take("r[")) return number_read();
    if (take("float(\"")) return special();
    for (auto [name, op] : kFunctions)
      if (take(name)) {
        operand(depth + 1);
        expect(")", "\")\"");
        return add(op);
      }
    if (take("True")) return add(true);
    if (take("False")) return add(false);
    if (take("(")) return parenthesis(depth);
    bool negative = at_ + 1 < text_.size() && text_[at_] == '-';
    if (negative && text_[at_ + 1] != '.' && !(text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9')) {
      at_++;
      operand(depth + 1);
      return add(Op::kNegate);
    }
    literal(negative);
  }

  void parenthesis(int depth) {
    operand(depth + 1);
    if (take(" ")) {
      for (auto [sign, op] : kSigns) {
        if (!take(sign)) continue;
        operand(depth + 1);
        expect(")", "\")\"");
        return add(op);
      }
      fail("an operator");
    }
    expect(")", "\")\"");
  }

  void special() {
    bool known = true;
    if (take("inf"))
      add(HUGE_VAL);
    else if (take("-inf"))
      add(-HUGE_VAL);
    else if (take("nan"))
      add(std::nan(""));
    else
      known = false;
    if (!known) fail("inf or nan");
    expect("\")", "the end of a string");
  }

  void number_read() {
    size_t index = 0;
    auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), index);
    if (error != std::errc() || index >= number_count_) fail("a number that there is");
    at_ = stop - text_.data();
    expect("]", "\"]\"");
    code_.push_back({Op::kRead, index});
  }

  void literal(bool negative) {
    size_t start = at_ + negative, end = start;
    auto in_number = [&](char c) {
      bool sign = (c == '+' || c == '-') && end > start && text_[end - 1] == 'e';
      return sign || (c >= '0' && c <= '9') || c == '.' || c == 'e';
    };
    while (end < text_.size() && in_number(text_[end])) end++;
    std::string_view text = text_.substr(at_, end - at_);
    if (text.find_first_of(".e") == std::string_view::npos) return add(parse<int64_t>(text));
    add(parse<double>(text));
  }

  template <class T>
  T parse(std::string_view text) {
    T value = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || stop != text.data() + text.size()) fail("a number");
    at_ += text.size();
    return value;
  }

  std::string_view text_;
  size_t number_count_;
  std::vector<Formula::Instruction>& code_;
  size_t at_ = 0;
};

}  // namespace

Formula::Formula(std::string_view text, size_t number_count) { Parser(text, number_count, &code_).whole(); }

Scalar Formula::evaluate(std::span<const Scalar> numbers) const {
  SmallVector<Scalar, 8> stack;
  for (const Instruction& step : code_) {
    if (step.op == Op::kRead) {
      stack.push_back(numbers[step.index]);
    } else if (step.op == Op::kLiteral) {
      stack.push_back(step.literal);
    } else if (step.op >= Op::kNegate) {
      stack.back() = unary(step.op, stack.back());
    } else {
      Scalar b = stack.back();
      stack.pop_back();
      stack.back() = binary(step.op, stack.back(), b);
    }
  }
  return stack.back();
}

}  // namespace tw::session
