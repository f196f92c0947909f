// Random bits on the device, the same as base/philox.h gives: a thread draws a block of four words.
#pragma once

#include "base/philox.h"
#include "cuda/common/platform.h"

namespace tw::cuda {

struct Words {
  uint32_t at[4];
};

TW_DEVICE Words random_words(PhiloxKey key, uint64_t block) {
  auto c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  auto c2 = static_cast<uint32_t>(key.draw), c3 = static_cast<uint32_t>(key.draw >> 32);
  auto k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  TW_UNROLL
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
  return {{c0, c1, c2, c3}};
}

}  // namespace tw::cuda
