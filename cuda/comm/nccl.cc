#include "cuda/comm/nccl.h"

#include "base/error.h"

namespace tw::cuda {

void check_nccl(ncclResult_t result, const char* op) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* more = nccl(op).last_error(nullptr);
  TW_FAIL(kComm, op, ": NCCL: ", nccl(op).error_string(result), more && *more ? ": " : "", more ? more : "");
}

NcclElements moved_elements(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {ncclFloat16, 1};
    case DType::kBFloat16:
      return {ncclBfloat16, 1};
    case DType::kFloat32:
      return {ncclFloat32, 1};
    case DType::kFloat64:
      return {ncclFloat64, 1};
    case DType::kComplex64:
      return {ncclFloat32, 2};
    case DType::kComplex128:
      return {ncclFloat64, 2};
    case DType::kInt8:
      return {ncclInt8, 1};
    case DType::kInt16:
      return {ncclInt8, 2};
    case DType::kInt32:
      return {ncclInt32, 1};
    case DType::kInt64:
      return {ncclInt64, 1};
    case DType::kBool:
    case DType::kUInt8:
      return {ncclUint8, 1};
  }
  TW_FAIL(kInternal, "NCCL: there is no dtype ", static_cast<int>(dtype));
}

NcclElements reduced_elements(DType dtype, comm::Reduction reduction, const char* op) {
  bool sums_parts = is_complex(dtype) && reduction == comm::Reduction::kSum;
  TW_CHECK((!is_complex(dtype) || sums_parts) && dtype != DType::kInt16, kNotImplemented, op,
           ": NCCL has no ", comm::name_of(reduction), " of ", dtype,
           is_complex(dtype) ? "" : "; convert to int32 first");
  return moved_elements(dtype);
}

ncclRedOp_t reduction_of(DType dtype, comm::Reduction reduction) {
  bool truth = dtype == DType::kBool;
  switch (reduction) {
    case comm::Reduction::kSum:
      return truth ? ncclMax : ncclSum;
    case comm::Reduction::kProd:
      return truth ? ncclMin : ncclProd;
    case comm::Reduction::kMin:
      return ncclMin;
    default:
      return ncclMax;
  }
}

}  // namespace tw::cuda
