#pragma once

#include <optional>
#include <string>

#include "base/dims.h"
#include "base/dtype.h"

namespace tw::ops {

struct ReduceAttrs {
  std::optional<IntList> dim;  // none or empty: all dims
  bool keepdim;
};

struct ReduceGivenAttrs {
  IntList dim;  // empty: all dims
  bool keepdim;
};

struct ReduceDTypeAttrs {
  std::optional<IntList> dim;
  bool keepdim;
  std::optional<DType> dtype;  // inputs are converted to it first
};

struct RowDimAttrs {
  int64_t dim;
};

struct DimKeepAttrs {
  int64_t dim;
  bool keepdim;
};

struct OptionalDimAttrs {
  std::optional<int64_t> dim;  // none: all dims, in row-major order
  bool keepdim;
};

struct DimDTypeAttrs {
  int64_t dim;
  std::optional<DType> dtype;  // inputs are converted to it first
};

struct MomentsAttrs {
  std::optional<IntList> dim;
  double correction;  // the sum of squares is divided by count - correction
  bool keepdim;
  bool root;
};

struct VectorNormAttrs {
  double ord;
  std::optional<IntList> dim;
  bool keepdim;
};

struct SizeAttrs {
  IntList size;
};

struct AssertAttrs {
  std::string error, message;
};

}  // namespace tw::ops
