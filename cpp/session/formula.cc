#include "session/formula.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace tw::session {

namespace {

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

Scalar integers(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (op == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (op == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (op == "**") return integer_power(a, b);
  if (op == "//" || op == "%") {
    if (b == -1) {
      overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
      if (op == "%") return int64_t{0};
    } else {
      int64_t rest = a % b;
      bool below = rest && (rest < 0) != (b < 0);
      result = op == "%" ? rest + (below ? b : 0) : a / b - below;
    }
  }
  TW_CHECK(!overflow, kValue, "formula: the result is beyond 64 bits");
  return result;
}

// As Python rounds: the quotient comes from the exact remainder.
double floored(std::string_view op, double a, double b) {
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  } else if (rest == 0) {
    rest = std::copysign(0.0, b);
  }
  if (op == "%") return rest;
  double down = std::floor(quotient);
  return quotient == 0 ? std::copysign(0.0, a / b) : quotient - down > 0.5 ? down + 1 : down;
}

double floats(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op != "**") return floored(op, a, b);
  TW_CHECK(a >= 0 || std::isnan(a) || std::floor(b) == b, kValue, "formula: the power is complex");
  return std::pow(a, b);
}

bool compare(std::string_view op, const Scalar& a, const Scalar& b) {
  auto order = [&](auto x, auto y) {
    return op == "<"    ? x < y
           : op == "<=" ? x <= y
           : op == ">"  ? x > y
           : op == ">=" ? x >= y
           : op == "==" ? x == y
                        : x != y;
  };
  bool whole = a.is_integral() && b.is_integral();
  return whole ? order(a.to_int(), b.to_int()) : order(a.to_double(), b.to_double());
}

Scalar binary(std::string_view op, const Scalar& a, const Scalar& b) {
  if (op[0] == '<' || op[0] == '>' || op[0] == '=' || op[0] == '!') return compare(op, a, b);
  bool divides = op == "/" || op == "//" || op == "%";
  TW_CHECK(!divides || b.to_double() != 0, kValue, "formula: a division by zero");
  TW_CHECK(op != "**" || a.to_double() != 0 || b.to_double() >= 0, kValue,
           "formula: a negative power of zero");
  bool whole = a.is_integral() && b.is_integral() && op != "/" && !(op == "**" && b.to_int() < 0);
  if (whole) return integers(op, a.to_int(), b.to_int());
  return floats(op, a.to_double(), b.to_double());
}

class Evaluator {
 public:
  Evaluator(std::string_view text, std::span<const Scalar> numbers) : text_(text), numbers_(numbers) {}

  Scalar whole() {
    Scalar result = operand(0);
    if (at_ < text_.size()) fail("the end");
    return result;
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

  Scalar operand(int depth) {
    if (depth > kDeepest) fail("less nesting");
    if (take("r[")) return number_read();
    if (take("float(\"")) return special();
    for (std::string_view name : {"abs(", "bool(", "int(", "float("})
      if (take(name)) return call(name, depth);
    if (take("True")) return true;
    if (take("False")) return false;
    if (take("(")) return parenthesis(depth);
    bool negative = at_ + 1 < text_.size() && text_[at_] == '-';
    if (negative && text_[at_ + 1] != '.' && !(text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9')) {
      at_++;
      return negated(operand(depth + 1));
    }
    return literal(negative);
  }

  Scalar parenthesis(int depth) {
    Scalar a = operand(depth + 1);
    if (take(" ")) {
      for (std::string_view op : {"**", "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">"}) {
        if (!take(op)) continue;
        expect(" ", "a space");
        a = binary(op, a, operand(depth + 1));
        expect(")", "\")\"");
        return a;
      }
      fail("an operator");
    }
    expect(")", "\")\"");
    return a;
  }

  static Scalar negated(const Scalar& a) {
    return a.is_integral() ? integers("-", 0, a.to_int()) : Scalar(-a.to_double());
  }

  Scalar call(std::string_view name, int depth) {
    Scalar a = operand(depth + 1);
    expect(")", "\")\"");
    if (name == "bool(") return a.to_bool();
    if (name == "float(") return a.to_double();
    if (name == "abs(" && !a.is_integral()) return std::abs(a.to_double());
    if (name == "abs(") return a.to_int() < 0 ? negated(a) : Scalar(a.to_int());
    TW_CHECK(a.is_integral() || std::abs(a.to_double()) < 9e18, kValue, "formula: an integer beyond 64 bits");
    return a.to_int();
  }

  Scalar special() {
    Scalar result = take("inf") ? HUGE_VAL : take("-inf") ? -HUGE_VAL : take("nan") ? std::nan("") : 0.0;
    if (result == Scalar(0.0)) fail("inf or nan");
    expect("\")", "the end of a string");
    return result;
  }

  Scalar number_read() {
    size_t index = 0;
    auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), index);
    if (error != std::errc() || index >= numbers_.size()) fail("a number that there is");
    at_ = stop - text_.data();
    expect("]", "\"]\"");
    return numbers_[index];
  }

  Scalar literal(bool negative) {
    size_t start = at_ + negative, end = start;
    auto in_number = [&](char c) {
      bool sign = (c == '+' || c == '-') && end > start && text_[end - 1] == 'e';
      return sign || (c >= '0' && c <= '9') || c == '.' || c == 'e';
    };
    while (end < text_.size() && in_number(text_[end])) end++;
    std::string_view text = text_.substr(at_, end - at_);
    if (text.find_first_of(".e") == std::string_view::npos) return parse<int64_t>(text);
    return parse<double>(text);
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
  std::span<const Scalar> numbers_;
  size_t at_ = 0;
};

}  // namespace

Scalar evaluate_formula(std::string_view formula, std::span<const Scalar> numbers) {
  return Evaluator(formula, numbers).whole();
}

}  // namespace tw::session
