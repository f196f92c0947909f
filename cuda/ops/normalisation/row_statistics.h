// Norms of rows (common/row_values.h): whether these are read in packs, and their statistics.
#pragma once

#include <cmath>
#include <initializer_list>

#include "cuda/common/row_values.h"

namespace tw::cuda {

inline bool may_pack(int64_t n, std::initializer_list<const void*> rows) {
  bool packed = n % kRowPack == 0;
  for (const void* row : rows) packed = packed && is_aligned(row);
  return packed;
}

template <class C>
struct RowStatistics {
  C mean, rstd;
};

// The mean, and 1 / √(variance about it + eps), in every thread of the row. Not centred: mean 0, and the
// variance about 0.
template <bool kCentre, int kGroup, class Row, class C>
TW_DEVICE RowStatistics<C> row_statistics(Row& row, int64_t n, C eps) {
  C mean = 0, squares = 0;
  if constexpr (kCentre) {
    row.each([&](int64_t, C value) { mean += value; });
    mean = group_reduce<kGroup>(mean, C(0), Plus()) / static_cast<C>(n);
  }
  row.each([&](int64_t, C value) { squares += (value - mean) * (value - mean); });
  squares = group_reduce<kGroup>(squares, C(0), Plus()) / static_cast<C>(n);
  return {mean, C(1) / std::sqrt(squares + eps)};
}

}  // namespace tw::cuda
