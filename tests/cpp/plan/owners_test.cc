// The interval map against an array of bytes.
#include "plan/owners.h"

#include <array>
#include <random>

#include "test.h"

namespace tw::test {
namespace {

using plan::Owners;
constexpr int kBytes = 24;
using Bytes = std::array<int, kBytes>;

Owners random_owners(std::mt19937& random, Bytes* bytes) {
  Owners owners;
  bytes->fill(-1);
  for (int i = static_cast<int>(random() % 8); i > 0; i--) {
    int begin = static_cast<int>(random() % kBytes),
        end = begin + static_cast<int>(random() % (kBytes - begin + 1));
    int owner = static_cast<int>(random() % 3);
    owners.set(begin, end, owner);
    for (int at = begin; at < end; at++) (*bytes)[at] = owner;
  }
  return owners;
}

void compare(const Owners& owners, const Bytes& bytes) {
  for (int begin = 0; begin < kBytes; begin++) {
    bool none = true, all[3] = {true, true, true};
    for (int end = begin; end <= kBytes; end++) {
      for (int owner = 0; owner < 3; owner++) CHECK_EQ(owners.owned(begin, end, owner), all[owner]);
      CHECK_EQ(owners.free(begin, end), none);
      if (end == kBytes) break;
      none &= bytes[end] == -1;
      for (int owner = 0; owner < 3; owner++) all[owner] &= bytes[end] == owner;
    }
  }
}

TEST(owners_are_those_of_each_byte) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; i++) {
    Bytes a_bytes, b_bytes;
    Owners a = random_owners(random, &a_bytes), b = random_owners(random, &b_bytes);
    compare(a, a_bytes);
    a.keep_common(b);
    for (int at = 0; at < kBytes; at++)
      if (a_bytes[at] != b_bytes[at]) a_bytes[at] = -1;
    compare(a, a_bytes);
  }
}

}  // namespace
}  // namespace tw::test
