// A small test library: TEST(name) { ... } with CHECK macros that print both values.
//
//   TEST(split_is_balanced) {
//     CHECK_EQ(cut(7, 3), (std::vector<int64_t>{3, 2, 2}));
//     CHECK_THROWS(tw::ValueError, cut(-1, 3), "negative");
//   }
//
// A failed check ends its test (by an exception, so on the test's own thread only) and the others still run.
// main.cc takes `--list`, `--file STEM` (the tests of STEM.cc) and a substring of a test's name.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tw::test {

struct Case {
  std::string_view name;
  std::string_view file;
  void (*body)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registrar {
  Registrar(std::string_view name, std::string_view file, void (*body)()) {
    cases().push_back({name, file, body});
  }
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) {
  { out << value } -> std::convertible_to<std::ostream&>;
};

// A value as text: what streams, lists of it, enumerators as numbers, anything else by its size.
template <class T>
std::string show(const T& value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
    out << "nullptr";
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out << '"' << std::string_view(value) << '"';
  } else if constexpr (std::is_integral_v<T>) {
    out << +value;  // int8_t is a number here, not a character
  } else if constexpr (Streamable<T>) {
    out << value;
  } else if constexpr (std::ranges::input_range<const T>) {
    out << '[';
    const char* comma = "";
    for (const auto& element : value) out << std::exchange(comma, ", ") << show(element);
    out << ']';
  } else if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else {
    out << '<' << sizeof(T) << " bytes>";
  }
  return out.str();
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  throw Failure(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

// Integers of any signedness compare by value: CHECK_EQ(v.size(), 3) is no sign-compare warning.
template <class T>
decltype(auto) wide(const T& value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<__int128>(value);
  } else {
    return (value);
  }
}

template <class A, class B, class Compare>
void check_pair(const A& a, const B& b, Compare holds, const char* text, const char* file, int line) {
  if (!holds(a, b)) fail(file, line, std::string(text) + ", got " + show(a) + " and " + show(b));
}

// NaN is near NaN, and an infinity near itself: a reference with either must be matched, not skipped.
inline bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

template <class Error, class Body>
void check_throws(Body body, std::string_view text, const char* call, const char* file, int line) {
  try {
    body();
  } catch (const Error& error) {
    std::string_view message = error.what();
    if (message.find(text) == std::string_view::npos) {
      fail(file, line,
           std::string(call) + ": wanted a message with " + show(text) + ", got " + show(message));
    }
    return;
  } catch (const std::exception& error) {
    fail(file, line, std::string(call) + ": another error than wanted: " + error.what());
  }
  fail(file, line, std::string(call) + ": no error, wanted one with " + show(text));
}

}  // namespace tw::test

#define TEST(name)                                                                    \
  static void test_##name();                                                          \
  static const ::tw::test::Registrar registrar_##name{#name, __FILE__, &test_##name}; \
  static void test_##name()

#define CHECK(...) ((__VA_ARGS__) ? (void)0 : ::tw::test::fail(__FILE__, __LINE__, "wanted " #__VA_ARGS__))

#define TW_TEST_PAIR(a, op, b)                                                                              \
  ::tw::test::check_pair(                                                                                   \
      a, b, [](const auto& x, const auto& y) -> bool { return ::tw::test::wide(x) op::tw::test::wide(y); }, \
      "wanted " #a " " #op " " #b, __FILE__, __LINE__)
#define CHECK_EQ(a, b) TW_TEST_PAIR(a, ==, b)
#define CHECK_NE(a, b) TW_TEST_PAIR(a, !=, b)
#define CHECK_LT(a, b) TW_TEST_PAIR(a, <, b)
#define CHECK_LE(a, b) TW_TEST_PAIR(a, <=, b)
#define CHECK_GT(a, b) TW_TEST_PAIR(a, >, b)
#define CHECK_GE(a, b) TW_TEST_PAIR(a, >=, b)

#define CHECK_NEAR(a, b, tolerance)                                                \
  ::tw::test::check_pair(                                                          \
      a, b, [&](double x, double y) { return ::tw::test::near(x, y, tolerance); }, \
      "wanted " #a " within " #tolerance " of " #b, __FILE__, __LINE__)

// The statement throws Error and the message contains text.
#define CHECK_THROWS(Error, statement, text) \
  ::tw::test::check_throws<Error>([&] { (void)(statement); }, text, #statement, __FILE__, __LINE__)
