#include "base/half.h"

#include <cmath>

#include "test.h"

using namespace tw;

namespace {

// The nearest float16 of a float, found by searching all of them; ties go to the even pattern.
uint16_t nearest_float16(float value) {
  if (std::isnan(value)) return 0x7E00;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float magnitude = std::fabs(value), best = INFINITY;
  uint16_t found = 0x7C00;
  if (magnitude >= 65520.0f) return sign | 0x7C00;
  for (uint32_t bits = 0; bits < 0x7C00; bits++) {
    float16 candidate;
    candidate.bits = static_cast<uint16_t>(bits);
    float distance = std::fabs(static_cast<float>(candidate) - magnitude);
    if (distance < best || (distance == best && bits % 2 == 0)) {
      best = distance;
      found = static_cast<uint16_t>(bits);
    }
  }
  return sign | found;
}

}  // namespace

TEST(float16_round_trips_every_pattern) {
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    float16 half;
    half.bits = static_cast<uint16_t>(bits);
    float wide = half;
    if (std::isnan(wide)) {
      CHECK((bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0);
      continue;
    }
    CHECK_EQ(float16(wide).bits, bits);
  }
}

TEST(float16_rounds_to_nearest_even) {
  for (float value : {0.1f, 1.0f / 3, 2049.0f, 2051.0f, 65504.0f, 65519.0f, 65520.0f, 6e-8f, 3e-8f, 2.9e-8f,
                      1e-7f, 6.1e-5f, 6.097e-5f, -1.5f, -0.0f})
    CHECK_EQ(float16(value).bits, nearest_float16(value));
}

TEST(bfloat16_rounds_to_nearest_even) {
  CHECK_EQ(bfloat16(1.0f).bits, 0x3F80);
  CHECK_EQ(bfloat16(1.00390625f).bits, 0x3F80);  // half way: to the even pattern
  CHECK_EQ(bfloat16(1.01171875f).bits, 0x3F82);
  CHECK_EQ(bfloat16(3.4e38f).bits, 0x7F80);
  CHECK(std::isnan(static_cast<float>(bfloat16(NAN))));
  CHECK_EQ(bfloat16(-INFINITY).bits, 0xFF80);
}
