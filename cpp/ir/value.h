// What the front end, gradients and the graph pass around: something with a dtype and a shape. Eager tensors
// and traced values are both Values.
#pragma once

#include "base/dims.h"
#include "base/dtype.h"
#include "base/intrusive.h"

namespace tw::ir {

class ValueImpl : public RefCounted {
 public:
  DType dtype = DType::kFloat32;
  // Made from a Python number: ranks below every tensor of its kind in promotion.
  bool wrapped_number = false;
  Dims sizes;

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t size(int64_t dim) const { return sizes[dim < 0 ? dim + rank() : dim]; }
  int64_t count() const { return numel(sizes); }
};

using Value = Ref<ValueImpl>;
using Values = SmallVector<Value, 3>;

struct Meta {
  DType dtype = DType::kFloat32;
  Dims sizes;
};

}  // namespace tw::ir
