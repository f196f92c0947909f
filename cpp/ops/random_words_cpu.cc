#include "ops/random_words.h"

#include <cstring>

#include "device/cpu/clones.h"
#include "device/cpu/parallel.h"
#include "device/cpu/strided.h"

namespace tw::device {

namespace {

// Four arrays, one a lane of the counter, so that the rounds vectorise over blocks. See base/philox.h.
TW_CLONES void fill_words(PhiloxKey key, uint64_t block, uint32_t* words) {
  constexpr int kBlocks = kRandomWords / 4;
  uint32_t lanes[4][kBlocks];
  for (int j = 0; j < kBlocks; j++) {
    uint64_t at = block + static_cast<uint64_t>(j);
    uint32_t c0 = static_cast<uint32_t>(at), c1 = static_cast<uint32_t>(at >> 32);
    uint32_t c2 = static_cast<uint32_t>(key.draw), c3 = static_cast<uint32_t>(key.draw >> 32);
    uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
#pragma GCC unroll 10
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
    lanes[0][j] = c0;
    lanes[1][j] = c1;
    lanes[2][j] = c2;
    lanes[3][j] = c3;
  }
  for (int j = 0; j < kBlocks; j++)
    for (int lane = 0; lane < 4; lane++) words[4 * j + lane] = lanes[lane][j];
}

// One operand's elements in row-major order of its dims.
detail::StridedSpace row_major(const Operand& operand, const uint8_t* element_size) {
  SmallVector<detail::StridedSpace::Dim, 4> dims;
  for (int64_t d = 0; d < operand.rank(); d++) {
    detail::StridedSpace::Dim dim{};
    dim.size = operand.size(d);
    dim.stride[0] = operand.stride(d) * *element_size;
    dims.push_back(dim);
  }
  char* data = operand.as<char>();
  return detail::StridedSpace(dims, &data, element_size, 1, /*ordered=*/true);
}

}  // namespace

void random_words(PhiloxKey key, uint64_t block, uint32_t* words) { fill_words(key, block, words); }

void random_fill(const Operand& out, PhiloxKey key, int words_each,
                 FunctionRef<void(const uint32_t* words, int64_t n, void* values)> fill) {
  const int64_t count = out.count(), step = kRandomWords / words_each;
  const auto size = static_cast<uint8_t>(size_of(out.dtype));
  const bool direct = out.contiguous();
  constexpr int64_t kGrain = 16;  // chunks
  parallel_for(0, (count + step - 1) / step, kGrain, [&](int64_t first, int64_t last) {
    uint32_t words[kRandomWords];
    alignas(64) char buffer[kRandomWords * 16];
    detail::StridedSpace space = row_major(out, &size);
    for (int64_t chunk = first; chunk < last; chunk++) {
      int64_t start = chunk * step, n = count - start < step ? count - start : step;
      random_words(key, static_cast<uint64_t>(chunk) * (kRandomWords / 4), words);
      bool in_place = direct && n % 2 == 0;
      char* values = in_place ? out.as<char>() + start * size : buffer;
      fill(words, n, values);
      if (in_place) continue;
      if (direct)
        std::memcpy(out.as<char>() + start * size, values, static_cast<size_t>(n * size));
      else
        detail::StridedCursor(space, start).move(0, n, values, /*scatter=*/true);
    }
  });
}

const void* read_chunk(const Operand& in, int64_t first, int64_t n, void* buffer) {
  const auto size = static_cast<uint8_t>(size_of(in.dtype));
  if (in.contiguous()) return in.as<char>() + first * size;
  detail::StridedSpace space = row_major(in, &size);
  detail::StridedCursor(space, first).move(0, n, static_cast<char*>(buffer), /*scatter=*/false);
  return buffer;
}

void write_chunk(const Operand& out, int64_t first, int64_t n, void* values) {
  const auto size = static_cast<uint8_t>(size_of(out.dtype));
  detail::StridedSpace space = row_major(out, &size);
  detail::StridedCursor(space, first).move(0, n, static_cast<char*>(values), /*scatter=*/true);
}

}  // namespace tw::device
