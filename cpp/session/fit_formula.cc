#include "session/fit_formula.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"

namespace tw::session {

namespace {

constexpr int64_t kMostDivisor = 16;

// What varies, as a column over the cases.
struct Column {
  std::string text;
  std::vector<int64_t> values;
};

std::string literal(int64_t value) { return value < 0 ? cat("(-", -value, ")") : cat(value); }

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::vector<Column> varying_columns(const std::vector<std::vector<Scalar>>& features) {
  std::vector<Column> columns;
  for (size_t k = 0; k < features[0].size(); k++) {
    Column column{cat("r[", k, "]"), {}};
    for (const auto& row : features) column.values.push_back(row[k].to_int());
    auto known = [&](const Column& other) { return other.values == column.values; };
    bool varies = std::any_of(column.values.begin(), column.values.end(),
                              [&](int64_t value) { return value != column.values[0]; });
    if (varies && std::none_of(columns.begin(), columns.end(), known)) columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Column> products(const std::vector<Column>& columns) {
  std::vector<Column> result = columns;
  size_t begin = 0;
  for (int factors = 2; factors <= 3; factors++) {
    size_t end = result.size();
    for (size_t i = begin; i < end; i++) {
      for (const Column& column : columns) {
        Column product{cat("(", result[i].text, " * ", column.text, ")"), result[i].values};
        for (size_t p = 0; p < product.values.size(); p++) product.values[p] *= column.values[p];
        result.push_back(std::move(product));
      }
    }
    begin = end;
  }
  return result;
}

class IntegerFit {
 public:
  IntegerFit(const std::vector<Column>& columns, const std::vector<int64_t>& wanted)
      : columns_(columns), wanted_(wanted) {}

  std::optional<std::string> find() const {
    for (const Column& column : columns_)
      if (column.values == wanted_) return column.text;
    for (const Column& column : products(columns_))
      if (auto text = linear(column)) return text;
    for (const Column& column : columns_)
      if (auto text = quotient(column)) return text;
    for (const Column& a : columns_)
      for (const Column& b : columns_)
        if (auto text = sum(a, b)) return text;
    return std::nullopt;
  }

 private:
  // a x + b
  std::optional<std::string> linear(const Column& x) const {
    size_t other = 1;
    while (other < x.values.size() && x.values[other] == x.values[0]) other++;
    if (other == x.values.size()) return std::nullopt;
    int64_t run = x.values[other] - x.values[0], rise = wanted_[other] - wanted_[0];
    if (rise == 0 || rise % run != 0) return std::nullopt;
    int64_t a = rise / run, b = wanted_[0] - a * x.values[0];
    for (size_t p = 0; p < wanted_.size(); p++)
      if (a * x.values[p] + b != wanted_[p]) return std::nullopt;
    std::string text = a == 1 ? x.text : cat("(", x.text, " * ", literal(a), ")");
    return b == 0 ? text : cat("(", text, " + ", literal(b), ")");
  }

  // (x + b) // c, where the cases leave one choice of b and c.
  std::optional<std::string> quotient(const Column& x) const {
    std::optional<std::string> found;
    for (int64_t c = 2; c <= kMostDivisor; c++) {
      for (int64_t b = wanted_[0] * c - x.values[0]; b < wanted_[0] * c - x.values[0] + c; b++) {
        bool fits = true;
        for (size_t p = 0; p < wanted_.size() && fits; p++)
          fits = floor_div(x.values[p] + b, c) == wanted_[p];
        if (!fits) continue;
        if (found) return std::nullopt;
        std::string shifted = b == 0 ? x.text : cat("(", x.text, " + ", literal(b), ")");
        found = cat("(", shifted, " // ", c, ")");
      }
    }
    return found;
  }

  // x + y + b, x - y + b
  std::optional<std::string> sum(const Column& x, const Column& y) const {
    for (int64_t sign : {1, -1}) {
      auto at = [&](size_t p) { return x.values[p] + sign * y.values[p]; };
      int64_t b = wanted_[0] - at(0);
      bool fits = true;
      for (size_t p = 0; p < wanted_.size() && fits; p++) fits = at(p) + b == wanted_[p];
      if (!fits) continue;
      std::string text = cat("(", x.text, sign > 0 ? " + " : " - ", y.text, ")");
      return b == 0 ? text : cat("(", text, " + ", literal(b), ")");
    }
    return std::nullopt;
  }

  const std::vector<Column>& columns_;
  const std::vector<int64_t>& wanted_;
};

std::optional<std::string> fit_integers(const std::vector<Column>& columns,
                                        const std::vector<Scalar>& wanted) {
  std::vector<int64_t> values;
  for (const Scalar& number : wanted) values.push_back(number.to_int());
  return IntegerFit(columns, values).find();
}

// x, 1 / x and roots of both, as float64 or rounded to float32.
std::optional<std::string> fit_floats(const std::vector<Column>& columns, const std::vector<Scalar>& wanted) {
  for (const Column& column : products(columns)) {
    auto holds = [&](auto&& at) {
      for (size_t p = 0; p < wanted.size(); p++) {
        double value = at(static_cast<double>(column.values[p])), is = wanted[p].to_double();
        if (value != is && static_cast<double>(static_cast<float>(value)) != is) return false;
      }
      return true;
    };
    if (holds([](double x) { return x; })) return cat("float(", column.text, ")");
    if (holds([](double x) { return 1.0 / x; })) return cat("(1.0 / ", column.text, ")");
    if (holds([](double x) { return std::pow(x, -0.5); })) return cat("(", column.text, " ** (-0.5))");
    if (holds([](double x) { return std::pow(x, 0.5); })) return cat("(", column.text, " ** 0.5)");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fit_formula(const std::vector<std::vector<Scalar>>& features,
                                       const std::vector<Scalar>& wanted) {
  std::vector<Column> columns = varying_columns(features);
  bool integral =
      std::all_of(wanted.begin(), wanted.end(), [](const Scalar& number) { return number.is_integral(); });
  return integral ? fit_integers(columns, wanted) : fit_floats(columns, wanted);
}

}  // namespace tw::session
