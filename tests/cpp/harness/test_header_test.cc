// The test library itself: each macro passes what holds and fails, with both values, what does not.
#include <cstdint>
#include <limits>

#include "test.h"

namespace {

enum class Color : int8_t { kRed = 7 };

template <class Body>
std::string failure_of(Body body) {
  try {
    body();
  } catch (const tw::test::Failure& failure) {
    return failure.what();
  }
  return "";
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

int throws_range() { throw std::range_error("shape: too long"); }

}  // namespace

TEST(comparisons_print_both_values) {
  CHECK_EQ(failure_of([] { CHECK_EQ(2 + 2, 4); }), "");
  std::string text = failure_of([] { CHECK_EQ(2 + 2, 5); });
  CHECK(contains(text, "wanted 2 + 2 == 5, got 4 and 5"));
  CHECK(contains(text, "test_header_test.cc:"));
  CHECK(contains(failure_of([] { CHECK_LT(3, 3); }), "got 3 and 3"));
  CHECK_EQ((std::vector<int>{1, 2}.size()), 2);
  CHECK_GT(uint64_t{1}, -1);
  CHECK(contains(failure_of([] { CHECK(1 > 2); }), "wanted 1 > 2"));
}

TEST(values_are_shown) {
  CHECK_EQ(tw::test::show(std::vector<int64_t>{1, 2}), "[1, 2]");
  CHECK_EQ(tw::test::show(Color::kRed), "7");
  CHECK_EQ(tw::test::show(int8_t{65}), "65");
  CHECK_EQ(tw::test::show(true), "true");
  CHECK_EQ(tw::test::show("text"), "\"text\"");
}

TEST(near_treats_nan_and_infinity) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  CHECK_NEAR(1.0, 1.05, 0.1);
  CHECK_NEAR(nan, nan, 0.1);
  CHECK_NEAR(inf, inf, 0.1);
  CHECK_NE(failure_of([&] { CHECK_NEAR(1.0, nan, 0.1); }), "");
  CHECK_NE(failure_of([&] { CHECK_NEAR(-inf, inf, 0.1); }), "");
  CHECK_NE(failure_of([&] { CHECK_NEAR(1.0, 1.2, 0.1); }), "");
}

TEST(throws_checks_type_and_message) {
  CHECK_THROWS(std::range_error, throws_range(), "too long");
  CHECK(contains(failure_of([] { CHECK_THROWS(std::range_error, throws_range(), "short"); }), "too long"));
  CHECK(contains(failure_of([] { CHECK_THROWS(std::logic_error, throws_range(), ""); }), "another error"));
  CHECK(contains(failure_of([] { CHECK_THROWS(std::range_error, 1 + 1, ""); }), "no error"));
}
