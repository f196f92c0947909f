#include "cuda/common/walk.h"

#include <algorithm>
#include <vector>

#include "cuda/common/vector.h"

namespace tw::cuda {

namespace {

// Bytes between neighbours along each dim of `shape`: 0 where the operand is broadcast.
Dims byte_strides(const Dims& shape, const device::Operand& operand) {
  Dims result(shape.size(), 0);
  int64_t size = size_of(operand.dtype);
  auto missing = static_cast<int64_t>(shape.size()) - operand.rank();
  for (int64_t d = 0; d < operand.rank(); d++)
    if (operand.size(d) != 1) result[missing + d] = operand.stride(d) * size;
  return result;
}

}  // namespace

MergedDims merge_dims(const Dims& shape, std::span<const device::Operand* const> operands) {
  size_t count = operands.size();
  std::vector<Dims> strides;
  for (const device::Operand* operand : operands) strides.push_back(byte_strides(shape, *operand));
  std::vector<int64_t> order;
  for (auto d = static_cast<int64_t>(shape.size()) - 1; d >= 0; d--)
    if (shape[d] != 1) order.push_back(d);
  if (count)
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return strides[0][a] < strides[0][b]; });
  MergedDims merged;
  for (int64_t d : order) {
    bool joins = !merged.sizes.empty();
    for (size_t o = 0; o < count && joins; o++)
      joins = strides[o][d] == merged.strides.back()[o] * merged.sizes.back();
    if (joins) {
      merged.sizes.back() *= shape[d];
      continue;
    }
    merged.sizes.push_back(shape[d]);
    merged.strides.emplace_back();
    for (size_t o = 0; o < count; o++) merged.strides.back().push_back(strides[o][d]);
  }
  if (merged.sizes.empty()) {
    merged.sizes.push_back(1);
    merged.strides.emplace_back(count, 0);
  }
  return merged;
}

bool fill_walk(const MergedDims& dims, int pack, std::span<const int> element_bytes, int64_t* steps,
               int* tail, int* rank, unsigned* fixed, Divisor* sizes, int64_t* strides,
               std::span<char* const> data, const char* op) {
  size_t count = element_bytes.size();
  auto found = static_cast<int>(dims.sizes.size());
  TW_CHECK(found <= kWalkDims, kNotImplemented, op, ": operands of ", found,
           " dims whose memory cannot be merged are not supported on CUDA; make them contiguous() first");
  *fixed = 0;
  for (size_t o = 0; o < count; o++) {
    int64_t inner = dims.strides[0][o];
    if (inner == 0) *fixed |= 1u << o;
    if (pack == 1) continue;
    if (inner != 0 && inner != element_bytes[o]) return false;
    // A pack that stands still is one element; others must be aligned wherever they begin.
    int64_t bytes = std::min<int64_t>(int64_t{pack} * element_bytes[o], kVectorBytes);
    if (inner == 0) continue;
    if (reinterpret_cast<uintptr_t>(data[o]) % bytes != 0) return false;
    for (int d = 1; d < found; d++)
      if (dims.strides[d][o] % bytes != 0) return false;
  }
  if (pack > 1 && found > 1 && dims.sizes[0] % pack != 0) return false;
  *rank = found;
  int64_t inner_steps = (dims.sizes[0] + pack - 1) / pack;
  *steps = inner_steps;
  *tail = static_cast<int>(dims.sizes[0] % pack);
  for (int d = 0; d < found; d++) {
    int64_t size = d == 0 ? inner_steps : dims.sizes[d];
    if (d > 0) *steps *= size;
    TW_CHECK(found == 1 || *steps < kMostSteps, kNotImplemented, op, ": strided operands of ", *steps,
             " elements are not supported on CUDA; make them contiguous() first");
    sizes[d] = Divisor(static_cast<uint32_t>(size));
    for (size_t o = 0; o < count; o++)
      strides[static_cast<size_t>(d) * count + o] = dims.strides[d][o] * (d == 0 ? pack : 1);
  }
  return true;
}

}  // namespace tw::cuda
