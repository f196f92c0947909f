#include "cuda/common/strided_dims.h"

#include <algorithm>

namespace tw::cuda {

StridedDims strided_dims(std::span<const int64_t> sizes, std::span<const int64_t> strides, const char* op) {
  StridedDims dims;
  int64_t last = 1;  // the size of the outermost dim so far
  for (size_t d = sizes.size(); d-- > 0;) {
    dims.count *= sizes[d];
    if (sizes[d] == 1) continue;
    if (dims.rank > 0 && strides[d] == dims.strides[dims.rank - 1] * last) {
      last *= sizes[d];
    } else {
      TW_CHECK(dims.rank < kWalkDims, kNotImplemented, op, ": more than ", kWalkDims,
               " dims whose memory cannot be merged are not supported on CUDA; make them contiguous() first");
      dims.strides[dims.rank++] = strides[d];
      last = sizes[d];
    }
    if (last < kMostSteps)
      dims.sizes[dims.rank - 1] = Divisor(static_cast<uint32_t>(std::max<int64_t>(last, 1)));
  }
  TW_CHECK(dims.rank <= 1 || dims.count < kMostSteps, kNotImplemented, op, ": ", dims.count,
           " strided elements are not supported on CUDA; make them contiguous() first");
  return dims;
}

}  // namespace tw::cuda
