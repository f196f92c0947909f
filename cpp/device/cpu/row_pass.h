// A loop over one contiguous row of many, for use under TW_CLONES. Where a row is passed over several times,
// all but the first find it in the cache; so that the first need not wait for memory either, the last fetches
// the next row's.
#pragma once

#include <cstdint>

#include "device/cpu/clones.h"

namespace tw::device {

// For an earlier pass over the row, to fetch the 64 elements from i on that a later one will write.
template <class T>
TW_INLINE void fetch_to_write(const T* row, int64_t i) {
  constexpr int64_t kBlock = 64, kLineBytes = 64;
  for (int64_t byte = 0; byte < kBlock * int64_t{sizeof(T)}; byte += kLineBytes)
    __builtin_prefetch(reinterpret_cast<const char*>(row + i) + byte, 1);
}

// f(i) for each i < n, in any order, and meanwhile what lies n elements beyond `rows` is fetched: the rows
// that come next, if they lie so. A fetch may be in vain, but it does nothing.
template <class F, class... T>
TW_INLINE void row_pass(int64_t n, F f, const T*... rows) {
  constexpr int64_t kBlock = 64, kLineBytes = 64;
  auto fetch = [](const auto* block) __attribute__((always_inline)) {
    for (int64_t byte = 0; byte < kBlock * int64_t{sizeof(*block)}; byte += kLineBytes)
      __builtin_prefetch(reinterpret_cast<const char*>(block) + byte);
  };
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    (fetch(rows + n + i), ...);
#pragma GCC ivdep
    for (int64_t l = i; l < i + kBlock; l++) f(l);
  }
#pragma GCC ivdep
  for (int64_t l = i; l < n; l++) f(l);
}

}  // namespace tw::device
