// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a counter-based
// generator.
//
// Random ops draw element i of draw d under seed s as block (i / 4, d) of key s, lane i % 4, so that the
// numbers do not depend on threads, placement or the order in which elements are made.
#pragma once

#include <array>
#include <cstdint>

namespace tw {

struct PhiloxKey {
  static constexpr uint64_t kUnset = ~uint64_t{0};
  uint64_t seed = 0;
  uint64_t draw = kUnset;  // set by dispatch
};

inline std::array<uint32_t, 4> philox(PhiloxKey key, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = static_cast<uint32_t>(key.draw), c3 = static_cast<uint32_t>(key.draw >> 32);
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = uint64_t{0xD2511F53} * c0;
    uint64_t p1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

// 32 random bits → [0, 1) on a grid of 2^-24 (float) or, from two words, 2^-53 (double).
inline float uniform_float(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
inline double uniform_double(uint32_t high, uint32_t low) {
  uint64_t bits = (uint64_t{high} << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace tw
