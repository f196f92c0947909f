// Inputs of losses over classes: input is [classes], [N, classes] or [N, classes, d1, ...], target lacks the
// classes.
#pragma once

#include "ir/emitter.h"

namespace tw::ops {

inline int64_t class_dim(const Dims& input) { return input.size() > 1 ? 1 : 0; }

inline Dims without_classes(const Dims& input) {
  Dims sizes = input;
  sizes.erase(sizes.begin() + class_dim(input));
  return sizes;
}

inline void check_reduction(const std::string& reduction, const char* op) {
  TW_CHECK(reduction == "none" || reduction == "mean" || reduction == "sum", kValue, op,
           ": reduction must be \"none\", \"mean\" or \"sum\", got \"", reduction, '"');
}

inline void check_classes(ir::InferContext& c, const ir::ValueImpl& input, const ir::ValueImpl& target,
                          int weight) {
  TW_CHECK(is_float(input.dtype), kNotImplemented, c.op, ": a floating dtype is wanted, got ", input.dtype);
  TW_CHECK(input.rank() > 0, kRuntime, c.op, ": the input needs a dim of classes, got a 0-dim tensor");
  TW_CHECK(target.sizes == without_classes(input.sizes), kValue, c.op, ": target must have the shape ",
           without_classes(input.sizes), " for input ", input.sizes, ", got ", target.sizes);
  TW_CHECK(target.dtype == DType::kInt64 || target.dtype == DType::kUInt8 || target.dtype == DType::kInt32,
           kRuntime, c.op, ": target must hold class indices as int64, int32 or uint8, got ", target.dtype);
  int64_t classes = input.sizes[class_dim(input.sizes)];
  TW_CHECK(!c.has(weight) || (c.in(weight).rank() == 1 && c.in(weight).size(0) == classes), kRuntime, c.op,
           ": weight must have the shape [", classes, "], got ", c.in(weight).sizes);
}

}  // namespace tw::ops
