#include "cuda/common/tensor_copy.h"

#include "base/error.h"

namespace tw::cuda {

namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's, which nothing links.
Encode find_encode(const char* op) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
        op);
  TW_CHECK(found, kDevice, op, ": the driver has no cuTensorMapEncodeTiled, which CUDA 12.0 brought");
  return reinterpret_cast<Encode>(found);
}

}  // namespace

TensorMap tensor_map(const char* op, DType dtype, const void* data, const Dims& sizes, const Dims& strides,
                     int rows) {
  static const Encode encode = find_encode(op);
  constexpr int kDims = 4;
  cuuint64_t extents[kDims], steps[kDims - 1];
  for (int dim = 0; dim < kDims; dim++) {
    extents[dim] = static_cast<cuuint64_t>(sizes[dim]);
    // A step that nobody takes may be anything, but the driver wants one that is no smaller than a row.
    if (dim > 0) steps[dim - 1] = 2 * static_cast<cuuint64_t>(sizes[dim] == 1 ? sizes[0] : strides[dim]);
  }
  cuuint32_t box[kDims] = {kTileColumns, static_cast<cuuint32_t>(rows), 1, 1}, apart[kDims] = {1, 1, 1, 1};
  auto type = dtype == DType::kFloat16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  TensorMap result;
  CUresult error = encode(&result.map, type, kDims, const_cast<void*>(data), extents, steps, box, apart,
                          CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                          CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  TW_CHECK(error == CUDA_SUCCESS, kDevice, op, ": the driver cannot copy tiles of a tensor of ", sizes,
           " elements that lie ", strides, " apart (error ", static_cast<int>(error), ")");
  return result;
}

}  // namespace tw::cuda
