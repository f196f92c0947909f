// A dense row of memory that kGroup threads (a warp, or the block) work on together: read once into registers
// where it fits, kRowKept elements a thread, and again at every use where it does not.
#pragma once

#include "cuda/common/element.h"
#include "cuda/common/reduce.h"
#include "cuda/common/vector.h"

namespace tw::cuda {

inline constexpr int kRowKept = 32;
// Elements that move at a time: 16 bytes of float, 8 of the half types.
inline constexpr int kRowPack = 4;

template <class T, int kGroup, int kPack, bool kKept>
struct RowValues {
  using C = compute_t<T>;
  static constexpr int kSteps = kRowKept / kPack;

  const stored_t<T>* row;
  int64_t count;
  int thread;
  C kept[kKept ? kRowKept : 1];

  TW_DEVICE RowValues(const stored_t<T>* from, int64_t n, int index) : row(from), count(n), thread(index) {
    if constexpr (kKept) {
      TW_UNROLL
      for (int s = 0; s < kSteps; s++) {
        int64_t first = (int64_t{s} * kGroup + thread) * kPack;
        if (first < count) read(first, kept + s * kPack);
      }
    }
  }

  TW_DEVICE void read(int64_t first, C* values) const {
    auto pack = load_pack<kPack>(row + first);
    TW_UNROLL
    for (int j = 0; j < kPack; j++) values[j] = load<T>(pack.at[j]);
  }

  // visit(i, values) of packs: elements i to i + kPack - 1.
  template <class Visit>
  TW_DEVICE void packs(Visit visit) {
    if constexpr (kKept) {
      TW_UNROLL
      for (int s = 0; s < kSteps; s++) {
        int64_t first = (int64_t{s} * kGroup + thread) * kPack;
        if (first < count) visit(first, kept + s * kPack);
      }
    } else {
      for (int64_t first = int64_t{thread} * kPack; first < count; first += int64_t{kGroup} * kPack) {
        C values[kPack];
        read(first, values);
        visit(first, values);
      }
    }
  }

  template <class Visit>
  TW_DEVICE void each(Visit visit) {
    packs([&](int64_t first, const C* values) {
      TW_UNROLL
      for (int j = 0; j < kPack; j++) visit(first + j, values[j]);
    });
  }

  // to[i] = f(i, value)
  template <class Out, class F>
  TW_DEVICE void write(stored_t<Out>* to, F f) {
    packs([&](int64_t first, const C* values) {
      Pack<stored_t<Out>, kPack> pack;
      TW_UNROLL
      for (int j = 0; j < kPack; j++) pack.at[j] = store<Out>(f(first + j, values[j]));
      store_pack(to + first, pack);
    });
  }
};

// Calls body<kGroup, kPack, kKept>() with what suits rows of n elements; `packed`: whether rows may be read
// in packs.
template <class Body>
void dispatch_row(int64_t n, bool packed, Body&& body) {
  bool warps = n <= int64_t{kLanes} * kRowKept, kept = n <= int64_t{kReduceThreads} * kRowKept;
  if (packed) {
    if (warps) return body.template operator()<kLanes, kRowPack, true>();
    if (kept) return body.template operator()<kReduceThreads, kRowPack, true>();
    return body.template operator()<kReduceThreads, kRowPack, false>();
  }
  // Element by element the compiler has too many addresses to keep the values beside.
  if (warps) return body.template operator()<kLanes, 1, false>();
  return body.template operator()<kReduceThreads, 1, false>();
}

// Blocks for `rows` rows at kGroup threads each.
template <int kGroup>
Grid row_grid(int64_t rows) {
  int64_t in_block = kReduceThreads / kGroup;
  return {static_cast<unsigned>((rows + in_block - 1) / in_block), static_cast<unsigned>(kReduceThreads)};
}

// The row that a thread works on, and its number among the threads of the row.
template <int kGroup>
TW_DEVICE int64_t row_of_thread() {
  return static_cast<int64_t>(blockIdx.x) * (kReduceThreads / kGroup) + threadIdx.x / kGroup;
}
template <int kGroup>
TW_DEVICE int thread_of_row() {
  return static_cast<int>(threadIdx.x) % kGroup;
}

struct Plus {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a + b;
  }
};
struct Larger {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a > b ? a : b;
  }
};

}  // namespace tw::cuda
