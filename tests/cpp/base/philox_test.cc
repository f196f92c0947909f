#include "base/philox.h"

#include "test.h"

using namespace tw;

// The known-answer vectors that the authors of Random123 publish for philox4x32-10.
TEST(philox_gives_the_published_numbers) {
  auto zeros = philox({0, 0}, 0);
  CHECK_EQ(zeros[0], 0x6627e8d5u);
  CHECK_EQ(zeros[1], 0xe169c58du);
  CHECK_EQ(zeros[2], 0xbc57ac4cu);
  CHECK_EQ(zeros[3], 0x9b00dbd8u);
  auto ones = philox({~uint64_t{0}, ~uint64_t{0}}, ~uint64_t{0});
  CHECK_EQ(ones[0], 0x408f276du);
  CHECK_EQ(ones[1], 0x41c83b0eu);
  CHECK_EQ(ones[2], 0xa20bc7c6u);
  CHECK_EQ(ones[3], 0x6d5451fdu);
}

TEST(uniform_numbers_stay_below_one) {
  CHECK_EQ(uniform_float(0), 0.0f);
  CHECK(uniform_float(~0u) < 1.0f);
  CHECK(uniform_double(~0u, ~0u) < 1.0);
}
