// Random bits in bulk, for kernels that fill tensors.
//
// A draw is an endless stream of 32-bit words: word s is lane s % 4 of Philox block s / 4. Element i of a
// tensor, counted in row-major order, takes words w i to w i + w - 1 (w = 1, or 2 where it needs more than 32
// bits), so that its value depends on neither threads nor strides. Of a part of a larger tensor, i counts in
// the whole.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/philox.h"
#include "device/kernel.h"
#include "ops/random_part.h"

namespace tw::device {

inline constexpr int64_t kRandomWords = 512;  // words that a chunk of elements takes

// Words 4 block to 4 block + kRandomWords - 1.
void random_words(PhiloxKey key, uint64_t block, uint32_t* words);

// Calls body(words, start, n, before) for chunks of the elements of a tensor of these sizes, in any order and
// on any thread: those from number `start` of the tensor on, n of them, whose words follow those of the
// `before` elements of the whole that come first. In the whole, the first of those is an even one.
void random_chunks(const Dims& sizes, PhiloxKey key, const ops::RandomPart& part, int words_each,
                   FunctionRef<void(const uint32_t* words, int64_t start, int64_t n, int64_t before)> body);

// Calls fill(words, n, values) for chunks of `out`'s elements, in any order and on any thread; `values` is
// contiguous room for n elements, n <= kRandomWords / words_each (an odd n has room for one more).
void random_fill(const Operand& out, PhiloxKey key, const ops::RandomPart& part, int words_each,
                 FunctionRef<void(const uint32_t* words, int64_t n, void* values)> fill);

// The elements [first, first + n) of `in`, in row-major order, contiguous: a pointer into `in` or `buffer`
// filled.
const void* read_chunk(const Operand& in, int64_t first, int64_t n, void* buffer);
// Stores contiguous values there.
void write_chunk(const Operand& out, int64_t first, int64_t n, void* values);

}  // namespace tw::device
