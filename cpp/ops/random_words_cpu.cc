#include "ops/random_words.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/clones.h"
#include "device/cpu/parallel.h"
#include "device/cpu/strided.h"

namespace tw::device {

namespace {

constexpr int kBlocks = kRandomWords / 4;
constexpr int64_t kGrain = 16;  // chunks

// Four arrays, one a lane of the counter, so that the rounds vectorise over blocks. See base/philox.h.
TW_INLINE void fill_blocks(PhiloxKey key, uint64_t block, int blocks, uint32_t* words) {
  uint32_t lanes[4][kBlocks];
  for (int j = 0; j < blocks; j++) {
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
  for (int j = 0; j < blocks; j++)
    for (int lane = 0; lane < 4; lane++) words[4 * j + lane] = lanes[lane][j];
}
TW_CLONES void fill_words(PhiloxKey key, uint64_t block, uint32_t* words) {
  fill_blocks(key, block, kBlocks, words);
}
TW_CLONES void fill_some_words(PhiloxKey key, uint64_t block, int blocks, uint32_t* words) {
  fill_blocks(key, block, blocks, words);
}

using ChunkBody = FunctionRef<void(const uint32_t* words, int64_t start, int64_t n, int64_t before)>;

// A part as runs of elements that follow one another in the whole: its trailing dims that are not cut, and
// the last that is.
class PartRuns {
 public:
  PartRuns(const Dims& sizes, const ops::RandomPart& part) : sizes_(sizes), part_(part) {
    TW_ASSERT(2 * sizes.size(), ==, part.size());
    cut_ = static_cast<int64_t>(sizes.size()) - 1;
    for (; cut_ > 0 && sizes[cut_] == whole(cut_); cut_--) length_ *= sizes[cut_];
    step_ = length_;
    if (cut_ >= 0) length_ *= sizes[cut_];
  }
  int64_t length() const { return length_; }
  // The number in the whole of the first element of a run.
  int64_t first(int64_t run) const {
    int64_t result = cut_ < 0 ? 0 : ops::first_index(part_, cut_) * step_;
    int64_t stride = cut_ < 0 ? 1 : whole(cut_) * step_;
    for (int64_t d = cut_ - 1; d >= 0; d--) {
      result += (run % sizes_[d] + ops::first_index(part_, d)) * stride;
      run /= sizes_[d];
      stride *= whole(d);
    }
    return result;
  }

 private:
  int64_t whole(int64_t d) const { return ops::whole_size(part_, d); }

  const Dims& sizes_;
  const ops::RandomPart& part_;
  int64_t cut_, length_ = 1, step_ = 1;  // step: elements of the whole from one index of dim cut to the next
};

void part_chunks(const Dims& sizes, PhiloxKey key, const ops::RandomPart& part, int words_each,
                 ChunkBody body) {
  const int64_t count = numel(sizes);
  if (count == 0) return;
  const PartRuns runs(sizes, part);
  const int64_t align = 4 / words_each;  // elements a block; even, so that pairs stay together
  const int64_t step = std::min(kRandomWords / words_each - align, runs.length());
  const int64_t chunks = (runs.length() + step - 1) / step;  // of a run
  parallel_for(
      0, count / runs.length() * chunks, kGrain * kRandomWords / step, [&](int64_t from, int64_t to) {
        uint32_t words[kRandomWords];
        for (int64_t i = from; i < to; i++) {
          int64_t run = i / chunks, offset = i % chunks * step, n = std::min(step, runs.length() - offset);
          int64_t at = runs.first(run) + offset, before = at % align;
          int64_t blocks = (before + n + align - 1) / align;
          fill_some_words(key, static_cast<uint64_t>(at / align), static_cast<int>(blocks), words);
          body(words, run * runs.length() + offset, n, before);
        }
      });
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

void random_chunks(const Dims& sizes, PhiloxKey key, const ops::RandomPart& part, int words_each,
                   ChunkBody body) {
  if (!part.empty()) return part_chunks(sizes, key, part, words_each, body);
  const int64_t count = numel(sizes), step = kRandomWords / words_each;
  parallel_for(0, (count + step - 1) / step, kGrain, [&](int64_t first, int64_t last) {
    uint32_t words[kRandomWords];
    for (int64_t chunk = first; chunk < last; chunk++) {
      int64_t start = chunk * step;
      random_words(key, static_cast<uint64_t>(chunk) * kBlocks, words);
      body(words, start, std::min(count - start, step), 0);
    }
  });
}

void random_fill(const Operand& out, PhiloxKey key, const ops::RandomPart& part, int words_each,
                 FunctionRef<void(const uint32_t* words, int64_t n, void* values)> fill) {
  const auto size = static_cast<uint8_t>(size_of(out.dtype));
  const bool direct = out.contiguous();
  const detail::StridedSpace space = row_major(out, &size);
  random_chunks(*out.sizes, key, part, words_each,
                [&](const uint32_t* words, int64_t start, int64_t n, int64_t before) {
                  if (direct && before == 0 && n % 2 == 0)
                    return fill(words, n, out.as<char>() + start * size);
                  alignas(64) char buffer[kRandomWords * 16];
                  fill(words, before + n, buffer);
                  char* values = buffer + before * size;
                  if (direct)
                    std::memcpy(out.as<char>() + start * size, values, static_cast<size_t>(n * size));
                  else
                    detail::StridedCursor(space, start).move(0, n, values, /*scatter=*/true);
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
