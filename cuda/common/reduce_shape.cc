#include "cuda/common/reduce_shape.h"

#include <algorithm>
#include <vector>

namespace tw::cuda {

namespace {

struct Dim {
  int64_t size, in, out;
};

// Sorts by the input's strides and joins neighbours.
std::vector<Dim> merged(std::vector<Dim> dims) {
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.in < b.in; });
  std::vector<Dim> result;
  for (const Dim& dim : dims) {
    if (dim.size == 1) continue;
    if (!result.empty()) {
      Dim& last = result.back();
      if (dim.in == last.in * last.size && dim.out == last.out * last.size) {
        last.size *= dim.size;
        continue;
      }
    }
    result.push_back(dim);
  }
  if (result.empty()) result.push_back({1, 0, 0});
  return result;
}

}  // namespace

ReduceShape reduce_shape(const device::Operand& in, const device::Operand& out, uint64_t mask,
                         const char* op) {
  std::vector<Dim> kept, gone;
  bool same_rank = in.rank() == out.rank();
  int64_t next = 0;
  ReduceShape shape;
  for (int64_t d = 0; d < in.rank(); d++) {
    int64_t stride = in.stride(d) * size_of(in.dtype);
    if (mask >> d & 1) {
      gone.push_back({in.size(d), stride, 0});
      shape.reduced *= in.size(d);
    } else {
      kept.push_back({in.size(d), stride, out.stride(same_rank ? d : next) * size_of(out.dtype)});
      shape.outputs *= in.size(d);
    }
    if (!(mask >> d & 1)) next++;
  }
  kept = merged(std::move(kept));
  gone = merged(std::move(gone));
  TW_CHECK(kept.size() <= kWalkDims && gone.size() <= kWalkDims, kNotImplemented, op, ": an operand of ",
           in.rank(),
           " dims whose memory cannot be merged is not supported on CUDA; make it contiguous() first");
  TW_CHECK(shape.outputs < kMostSteps && (gone.size() == 1 || shape.reduced < kMostSteps), kNotImplemented,
           op, ": ", shape.outputs, " results of ", shape.reduced,
           " elements each are not supported on CUDA");
  shape.kept_rank = static_cast<int>(kept.size());
  shape.reduced_rank = static_cast<int>(gone.size());
  for (size_t d = 0; d < kept.size(); d++) {
    shape.kept[d] = Divisor(static_cast<uint32_t>(std::max<int64_t>(kept[d].size, 1)));
    shape.kept_in[d] = kept[d].in;
    shape.kept_out[d] = kept[d].out;
  }
  for (size_t d = 0; d < gone.size(); d++) {
    if (gone.size() > 1) shape.gone[d] = Divisor(static_cast<uint32_t>(std::max<int64_t>(gone[d].size, 1)));
    shape.gone_in[d] = gone[d].in;
  }
  return shape;
}

ReduceShape row_shape(const device::Operand& operand, int64_t dim, const char* op) {
  ReduceShape shape;
  for (int64_t d = operand.rank() - 1; d >= 0; d--) {
    if (d == dim) {
      shape.reduced = operand.size(d);
      shape.reduced_rank = 1;
      shape.gone_in[0] = operand.stride(d) * size_of(operand.dtype);
      continue;
    }
    if (operand.size(d) == 1) continue;
    TW_CHECK(shape.kept_rank < kWalkDims, kNotImplemented, op, ": an operand of ", operand.rank(),
             " dims is not supported on CUDA");
    shape.kept[shape.kept_rank] = Divisor(static_cast<uint32_t>(std::max<int64_t>(operand.size(d), 1)));
    shape.kept_in[shape.kept_rank] = operand.stride(d) * size_of(operand.dtype);
    shape.kept_out[shape.kept_rank++] = 0;
    shape.outputs *= operand.size(d);
  }
  TW_CHECK(shape.outputs < kMostSteps, kNotImplemented, op, ": ", shape.outputs,
           " rows are not supported on CUDA");
  return shape;
}

uint64_t mask_of(const Dims& dims, int64_t rank) {
  if (dims.empty()) return rank >= 64 ? ~uint64_t{0} : (uint64_t{1} << rank) - 1;
  uint64_t mask = 0;
  for (int64_t dim : dims) mask |= uint64_t{1} << dim;
  return mask;
}

}  // namespace tw::cuda
