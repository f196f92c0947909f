#include "device/cpu/arg_reduce.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "device/cpu/parallel.h"
#include "device/cpu/reduce.h"
#include "device/cpu/rows.h"
#include "device/cpu/strided.h"

namespace tw::device {

namespace {

constexpr int64_t kBlock = 32 << 10;  // elements of a full reduction that one task looks at

template <class T>
struct Best {
  compute_t<T> value;
  int64_t index;
};

// True when b comes before a: more extreme, or the first NaN.
template <bool kLargest, class V>
TW_INLINE bool beats(V b, V a) {
  bool further = kLargest ? b > a : b < a;
  return further | ((b != b) & (a == a));
}

// The best of n > 0 contiguous elements: its value by a vectorised sweep, then the first place that holds it.
template <class T, bool kLargest>
TW_CLONES __attribute__((flatten)) Best<T> best_of_run(const stored_t<T>* run, int64_t n) {
  using V = compute_t<T>;
  V value = reduce_span(
      n, load<T>(run[0]), [run](int64_t i) { return load<T>(run[i]); },
      [](V a, V b) { return beats<kLargest>(b, a) ? b : a; });
  constexpr int64_t kChunk = 256;
  for (int64_t first = 0; first < n; first += kChunk) {
    int64_t last = first + kChunk < n ? first + kChunk : n;
    int found = 0;
    for (int64_t i = first; i < last; i++) {
      V x = load<T>(run[i]);
      found |= (x == value) | ((x != x) & (value != value));
    }
    if (!found) continue;
    for (int64_t i = first; i < last; i++) {
      V x = load<T>(run[i]);
      if ((x == value) | ((x != x) & (value != value))) return {value, i};
    }
  }
  return {value, 0};
}

template <class T>
void write(const Best<T>& best, char* value, char* index) {
  if (value) *reinterpret_cast<stored_t<T>*>(value) = store<T>(best.value);
  if (index) *reinterpret_cast<int64_t*>(index) = best.index;
}

template <class T, bool kLargest>
void reduce_all(const Operand& in, const Operand* values, const Operand* indices) {
  const uint8_t size[] = {sizeof(T)};
  SmallVector<detail::StridedSpace::Dim, 4> dims;
  for (int64_t d = 0; d < in.rank(); d++) {
    detail::StridedSpace::Dim dim{in.size(d), {in.stride(d) * static_cast<int64_t>(sizeof(T))}};
    dims.push_back(dim);
  }
  char* data[] = {in.as<char>()};
  detail::StridedSpace space(dims, data, size, 1, /*ordered=*/true);
  bool dense = space.is_dense(0);
  std::vector<Best<T>> blocks((space.count() + kBlock - 1) / kBlock);
  parallel_for(0, static_cast<int64_t>(blocks.size()), 2, [&](int64_t first, int64_t last) {
    std::vector<stored_t<T>> buffer(dense ? 0 : kBlock);
    for (int64_t b = first; b < last; b++) {
      int64_t n = std::min(kBlock, space.count() - b * kBlock);
      const auto* run = in.as<stored_t<T>>() + b * kBlock;
      if (!dense) {
        detail::StridedCursor(space, b * kBlock)
            .move(0, n, reinterpret_cast<char*>(buffer.data()), /*scatter=*/false);
        run = buffer.data();
      }
      blocks[b] = best_of_run<T, kLargest>(run, n);
      blocks[b].index += b * kBlock;
    }
  });
  Best<T> best = blocks[0];
  for (const Best<T>& block : blocks) best = beats<kLargest>(block.value, best.value) ? block : best;
  write<T>(best, values ? values->as<char>() : nullptr, indices ? indices->as<char>() : nullptr);
}

// An output with the reduced dim put back, which row loops want.
struct KeptDim {
  Dims sizes, strides;
  Operand operand;

  KeptDim(const Operand& out, const Operand& in, int64_t dim) : sizes(*out.sizes), strides(*out.strides) {
    if (out.rank() < in.rank()) {
      sizes.insert(sizes.begin() + dim, 1);
      strides.insert(strides.begin() + dim, 0);
    }
    operand = {out.data, &sizes, &strides, out.dtype};
  }
};

template <class T, bool kLargest>
void reduce_dim(const Operand& in, const Operand* values, const Operand* indices, int64_t dim) {
  int64_t n = in.size(dim);
  KeptDim kept_values(values ? *values : *indices, in, dim),
      kept_indices(indices ? *indices : *values, in, dim);
  row_loop({&kept_values.operand, &kept_indices.operand}, {&in}, dim, [&](int64_t, char* const* data) {
    auto best = best_of_run<T, kLargest>(reinterpret_cast<const stored_t<T>*>(data[2]), n);
    write<T>(best, values ? data[0] : nullptr, indices ? data[1] : nullptr);
  });
}

}  // namespace

void arg_reduce(const Operand& in, const Operand* values, const Operand* indices, int64_t dim, bool largest) {
  if (!values && !indices) return;
  bool all = dim == kAllDims || in.rank() == 0;
  TW_ASSERT(all ? in.count() : in.size(dim), >, 0);
  dispatch_real_bool(in.dtype, "arg_reduce", [&]<class T>() {
    if (all)
      largest ? reduce_all<T, true>(in, values, indices) : reduce_all<T, false>(in, values, indices);
    else
      largest ? reduce_dim<T, true>(in, values, indices, dim)
              : reduce_dim<T, false>(in, values, indices, dim);
  });
}

}  // namespace tw::device
